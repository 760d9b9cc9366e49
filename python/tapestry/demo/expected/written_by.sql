select msgid, newsgroup, subject, arr as _matched_at
from messages
where author = getvariable('somebody') and arr <= getvariable('t')
