select msgid, author, subject, arr as _matched_at
from messages
where newsgroup = getvariable('one_list') and arr <= getvariable('t')
