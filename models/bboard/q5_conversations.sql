-- Figure 4, Q5: first messages in conversation chains greater than two in length
select m.msgid, m.author, m1.msgid as reply, m2.msgid as reply_to_reply
from {{ source('bboard', 'messages') }} m,
     {{ source('bboard', 'messages') }} m1,
     {{ source('bboard', 'messages') }} m2
where m.inreplyto is null
  and m1.inreplyto = m.msgid
  and m2.inreplyto = m1.msgid
