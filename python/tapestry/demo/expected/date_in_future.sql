select msgid, newsgroup, author, date, arr as _matched_at
from messages
where arr < date and arr <= getvariable('t')
