-- Section 4.1: two disjuncts whose times meet: exactly "base" before its date, whatever ends in "base" after it
select m.msgid, m.newsgroup, m.subject, m.date
from {{ source('bboard', 'messages') }} m
where (m.date > now() and m.subject = '{{ var("keyword") }}')
   or (m.date <= now() and m.subject like '%{{ var("keyword") }}')
