-- Section 1: a reply to a particular message
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where m.inreplyto = '{{ var("one_message") }}'
