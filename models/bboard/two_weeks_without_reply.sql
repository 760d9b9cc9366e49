-- Sections 1, 2, 4.1, 4.3: messages more than 2 weeks old that no one has replied to
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where m.ts + interval 14 days < now()
  and not exists (
    select 1 from {{ source('bboard', 'messages') }} r where r.inreplyto = m.msgid
  )
