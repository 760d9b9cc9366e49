-- a pair is there when the later of the two has arrived
select m.msgid, m.author, m.subject, r.msgid as reply, greatest(m.arr, r.arr) as _matched_at
from messages m join messages r on r.inreplyto = m.msgid
where r.author = getvariable('jones') and m.arr <= getvariable('t') and r.arr <= getvariable('t')
