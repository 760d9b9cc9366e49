-- true at its arrival or never: replies do not go away
select m.msgid, m.newsgroup, m.author, m.subject, m.arr as _matched_at
from messages m
where m.arr <= getvariable('t')
  and not exists (from messages r where r.inreplyto = m.msgid and r.arr <= m.arr)
