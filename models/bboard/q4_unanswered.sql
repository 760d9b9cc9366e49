-- Figure 4, Q4: messages more than 4 weeks old that have not been replied to
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where m.ts < now() - interval 28 days
  and not exists (
    select 1 from {{ source('bboard', 'messages') }} m1 where m1.inreplyto = m.msgid
  )
