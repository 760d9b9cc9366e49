select msgid, newsgroup, author, subject, arr as _matched_at
from messages
where inreplyto = getvariable('one_message') and arr <= getvariable('t')
