-- title: a LEFT JOIN to a static table stays
select m.id, a.level from messages m left join authors a on a.author = m.author where now() > m.due
-- becomes
SELECT m.id AS id, a.level AS level
FROM messages AS m
LEFT JOIN authors AS a ON a.author = m.author
WHERE m.due + INTERVAL '1' MICROSECOND <= s

-- title: one that says when an answer holds does not
select m.id, a.level from messages m left join authors a on a.author = m.author
where m.ts + a.level * interval 1 day < now()
-- becomes
SELECT m.id AS id, a.level AS level
FROM messages AS m
CROSS JOIN authors AS a
WHERE (m.ts + a.level * INTERVAL '1' DAY) + INTERVAL '1' MICROSECOND <= s
  AND a.author = m.author
UNION ALL
SELECT m.id AS id, CAST(NULL AS INT) AS level
FROM messages AS m
WHERE FALSE

-- title: IS NULL finds the rows without a match
select m.id from messages m left join authors a on a.author = m.author
where a.level is null and exists (select 1 from messages r where r.parent = m.id)
-- becomes
SELECT m.id AS id
FROM messages AS m
CROSS JOIN authors AS a
WHERE a.level IS NULL
  AND EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id)
  AND a.author = m.author
UNION ALL
SELECT m.id AS id
FROM messages AS m
WHERE CAST(NULL AS INT) IS NULL
  AND EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id)
  AND NOT EXISTS(SELECT 1 FROM authors AS a WHERE a.author = m.author)

-- title: in a subquery it goes
select m.id from messages m where not exists (select 1 from messages r
  left join authors a on a.author = r.author where r.parent = m.id and a.level is null)
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE NOT (EXISTS(SELECT 1 FROM messages AS r CROSS JOIN authors AS a WHERE r.parent = m.id AND a.level IS NULL AND a.author = r.author) OR EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND CAST(NULL AS INT) IS NULL AND NOT EXISTS(SELECT 1 FROM authors AS a WHERE a.author = r.author)))
