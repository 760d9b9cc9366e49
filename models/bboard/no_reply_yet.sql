-- Sections 2, 4.1: messages to which nobody has sent a reply (which, at first, is nearly every message)
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where not exists (
  select 1 from {{ source('bboard', 'messages') }} r where r.inreplyto = m.msgid
)
