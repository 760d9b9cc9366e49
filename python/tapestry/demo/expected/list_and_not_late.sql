select msgid, author, date, ts, arr as _matched_at
from messages
where newsgroup = getvariable('one_list') and date >= ts and arr <= getvariable('t')
