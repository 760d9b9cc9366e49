-- Abstract: messages that have been replied to by Jones
select m.msgid, m.author, m.subject, r.msgid as reply
from {{ source('bboard', 'messages') }} m
join {{ source('bboard', 'messages') }} r on r.inreplyto = m.msgid
where r.author = '{{ var("jones") }}'
