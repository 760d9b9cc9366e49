select msgid, newsgroup, author, subject, arr as _matched_at
from messages
where contains(subject, getvariable('keyword')) and arr <= getvariable('t')
