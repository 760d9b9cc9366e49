-- Sections 1, 4.2, 5: messages from joe
select m.msgid, m.newsgroup, m.subject
from {{ source('bboard', 'messages') }} m
where m.author = '{{ var("somebody") }}'
