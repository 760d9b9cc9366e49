-- Section 5: messages that received a reply
select m1.msgid, m1.author, m2.msgid as reply, m2.author as replied_by
from {{ source('bboard', 'messages') }} m1, {{ source('bboard', 'messages') }} m2
where m2.inreplyto = m1.msgid
