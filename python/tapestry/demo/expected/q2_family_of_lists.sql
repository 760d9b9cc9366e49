select msgid, newsgroup, author, subject, arr as _matched_at
from messages
where newsgroup like getvariable('list_pattern') and arr <= getvariable('t')
