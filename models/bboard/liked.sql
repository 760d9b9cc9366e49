-- Section 1: messages that somebody voted for
select m.msgid, m.newsgroup, m.author, m.subject
from {{ source('bboard', 'messages') }} m
where exists (
  select 1 from {{ source('bboard', 'votes') }} v
  where v.msgid = m.msgid and v.vote > 0 and v.voter = '{{ var("voter") }}'
)
