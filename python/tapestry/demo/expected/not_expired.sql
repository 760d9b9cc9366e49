select msgid, author, date, arr as _matched_at
from messages
where newsgroup = getvariable('one_list') and arr < date + interval 30 days
  and arr <= getvariable('t')
