select m.msgid, m.author, r.msgid as reply, r.author as replied_by,
  greatest(m.arr, r.arr) as _matched_at
from messages m join messages r on r.inreplyto = m.msgid
where m.arr <= getvariable('t') and r.arr <= getvariable('t')
