-- Section 1: messages that contain a given keyword
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where m.subject like '%{{ var("keyword") }}%'
