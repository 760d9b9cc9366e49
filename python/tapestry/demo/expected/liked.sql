-- from the first such vote on, or from the message on if the vote was there before it
select m.msgid, m.newsgroup, m.author, m.subject, greatest(m.arr, v.first_vote) as _matched_at
from messages m
join (
  select msgid, min(arr) as first_vote from votes
  where vote > 0 and voter = getvariable('voter')
  group by msgid
) v on v.msgid = m.msgid
where m.arr <= getvariable('t') and v.first_vote <= getvariable('t')
