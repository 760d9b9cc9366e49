-- title: a few alternatives
select id from messages where due < now() or ts < now() - interval 1 day
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages._arrival <= s AND messages.due + INTERVAL '1' MICROSECOND <= s
-- OR, for the same derivation
SELECT messages.id AS id
FROM messages AS messages
WHERE messages._arrival <= s
  AND (messages.ts + INTERVAL '1' DAY) + INTERVAL '1' MICROSECOND <= s

-- title: outer joins times alternatives
select m.id from messages m left join messages a on a.parent = m.id left join messages b on b.parent = m.id
  left join messages c on c.parent = m.id left join messages d on d.parent = m.id left join messages e on e.parent = m.id
  left join messages f on f.parent = m.id
where (m.due < now() or m.ts < now() - interval 1 day) and m.author in (select x.author from authors x)
-- becomes
-- refused by refuse_too_long: the SQL of a run would be about 2.8 million characters long (ways to form a row of FROM: 64, alternatives in them: 128, subqueries in those: 512; each of LEFT JOIN a, LEFT JOIN b, LEFT JOIN c, LEFT JOIN d, LEFT JOIN e, LEFT JOIN f about triples it)
-- in: select m.id from messages m left join messages a on a.parent = m.id left join messages b on b.parent = m.id left join messages c on c.parent = m.id left join messages d on d.parent = m.id left join messages e on e.parent = m.id left join messages f on f.parent = m.id
where (m.due < now() or m.ts < now() - interval 1 day) and m.author in (select x.author from authors x)
