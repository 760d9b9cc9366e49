-- Section 4.3: messages that have not received a reply for the last two weeks
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where not exists (
  select 1 from {{ source('bboard', 'messages') }} r
  where r.inreplyto = m.msgid and now() < r.ts + interval 14 days
)
