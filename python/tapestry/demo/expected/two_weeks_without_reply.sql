with due as (
  select *, greatest(arr, ts + interval 14 days + interval 1 microsecond) as due from messages
)
select m.msgid, m.newsgroup, m.author, m.subject, m.due as _matched_at
from due m
where m.due <= getvariable('t')
  and not exists (from messages r where r.inreplyto = m.msgid and r.arr <= m.due)
