-- title: an arm that is never true
select id from messages where due > now() union all select level from authors where false
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages._arrival <= s AND s < messages.due

-- title: rows without a match, of which a comparison is asked
select m.id from messages m left join authors a on a.author = m.author
where m.ts + a.level * interval 1 day < now()
-- becomes
SELECT m.id AS id
FROM messages AS m
CROSS JOIN authors AS a
WHERE a.author = m.author
  AND m._arrival <= s
  AND (m.ts + a.level * INTERVAL '1' DAY) + INTERVAL '1' MICROSECOND <= s

-- title: nothing is left
select id from messages where due < now() and 1 is null and false
-- becomes
-- refused by drop_impossible: the query can never have an answer
-- in: select id from messages where due < now() and 1 is null and false
