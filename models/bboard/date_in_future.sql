-- Sections 4.1, 4.2: messages whose date field is in the future
select m.msgid, m.newsgroup, m.author, m.date
from {{ source('bboard', 'messages') }} m
where now() < m.date
