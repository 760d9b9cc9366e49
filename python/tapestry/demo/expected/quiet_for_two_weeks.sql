-- quiet begins when the message arrives or when a reply turns two weeks old: the first of these
-- instants at which no reply younger than two weeks is there
with instants as (
  select rid, msgid, newsgroup, author, subject, arr as s from messages
  union
  select m.rid, m.msgid, m.newsgroup, m.author, m.subject, r.ts + interval 14 days
  from messages m join messages r on r.inreplyto = m.msgid
  where r.ts + interval 14 days > m.arr
)
select msgid, newsgroup, author, subject, min(s) as _matched_at
from instants i
where s <= getvariable('t')
  and not exists (
    from messages r
    where r.inreplyto = i.msgid and r.arr <= i.s and i.s < r.ts + interval 14 days
  )
group by rid, msgid, newsgroup, author, subject
