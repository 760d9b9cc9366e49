-- Section 4.2: messages that are between 2 and 3 weeks old
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where m.ts + interval 14 days < now() and now() < m.ts + interval 21 days
