select m.msgid, m.newsgroup, m.author, r.msgid as reply, greatest(m.arr, r.arr) as _matched_at
from messages m join messages r on r.inreplyto = m.msgid
where r.newsgroup = getvariable('one_list') and m.arr <= getvariable('t') and r.arr <= getvariable('t')
