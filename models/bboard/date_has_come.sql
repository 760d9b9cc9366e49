-- Section 4.1: a column compared with the current time, tbl.field < now(): true from then on
select m.msgid, m.newsgroup, m.date
from {{ source('bboard', 'messages') }} m
where m.date < now()
