select a.msgid, a.author, b.msgid as reply, c.msgid as reply_to_reply,
  greatest(a.arr, b.arr, c.arr) as _matched_at
from messages a
join messages b on b.inreplyto = a.msgid
join messages c on c.inreplyto = b.msgid
where a.inreplyto is null
  and a.arr <= getvariable('t') and b.arr <= getvariable('t') and c.arr <= getvariable('t')
