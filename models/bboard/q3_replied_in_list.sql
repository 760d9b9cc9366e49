-- Figure 4, Q3: messages that have a reply sent to comp.databases
select m.msgid, m.newsgroup, m.author, m1.msgid as reply
from {{ source('bboard', 'messages') }} m, {{ source('bboard', 'messages') }} m1
where m1.inreplyto = m.msgid
  and m1.newsgroup = '{{ var("one_list") }}'
