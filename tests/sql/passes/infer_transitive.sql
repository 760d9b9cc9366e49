-- title: a range goes through a chain of comparisons
select m.id, a.level as one, b.level as other from messages m, authors a, authors b
where m.id between 2 and 100 and a.level >= m.id - 1 and b.level = a.level
-- becomes
-- a.level >= 1 follows from m.id BETWEEN 2 AND 100 AND a.level >= m.id - 1
-- b.level >= 1 follows from m.id BETWEEN 2 AND 100 AND a.level >= m.id - 1 AND b.level = a.level
SELECT m.id AS id, a.level AS one, b.level AS other
FROM messages AS m
CROSS JOIN authors AS a
CROSS JOIN authors AS b
WHERE m.id BETWEEN 2 AND 100
  AND a.level >= m.id - 1
  AND b.level = a.level
  AND a.level >= 1
  AND b.level >= 1
  AND m._arrival <= s

-- title: what is equal fulfils the same conditions
select m.id from messages m join authors a on m.author = a.author where a.author in ('ann', 'bob')
-- becomes
-- m.author IN ('ann', 'bob') follows from m.author = a.author AND a.author IN ('ann', 'bob')
SELECT m.id AS id
FROM messages AS m
CROSS JOIN authors AS a
WHERE m.author = a.author
  AND a.author IN ('ann', 'bob')
  AND m.author IN ('ann', 'bob')
  AND m._arrival <= s

-- title: a table's own conditions are not said again
select m.id from messages m join messages r on r.parent = m.id where m.id > 3 and r.parent > 5
-- becomes
-- m.id >= 6 follows from r.parent = m.id AND r.parent > 5
SELECT m.id AS id
FROM messages AS m
CROSS JOIN messages AS r
WHERE r.parent = m.id
  AND m.id > 3
  AND r.parent > 5
  AND m.id >= 6
  AND m._arrival <= s
  AND r._arrival <= s

-- title: into a subquery, also one that must find nothing
select m.id from messages m where m.id > 3 and m.due > now()
and not exists (select 1 from messages r where r.parent = m.id)
-- becomes
-- r.parent >= 4 follows from r.parent = m.id AND m.id > 3
SELECT m.id AS id
FROM messages AS m
WHERE m.id > 3
  AND m._arrival <= s
  AND s < m.due
  AND NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND r.parent >= 4 AND r._arrival <= s)

-- title: out of a subquery that must find something
select m.id from messages m where exists (select 1 from messages r where r.parent = m.id and r.parent > 3)
-- becomes
-- m.id >= 4 follows from r.parent = m.id AND r.parent > 3
SELECT m.id AS id
FROM messages AS m
WHERE m.id >= 4
  AND m._arrival <= s
  AND EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND r.parent > 3 AND r._arrival <= s)

-- title: never out of one that must find nothing
select m.id from messages m where not exists
(select 1 from messages r where r.parent = m.id and r.parent > 3)
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE m._arrival <= s
  AND NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND r.parent > 3 AND r._arrival <= s)

-- title: into what is looked up, never out of it
select m.id, a.level from messages m left join authors a on a.level = m.parent and a.level < 9 where m.parent >= 2
-- becomes
-- a.level >= 2 follows from a.level = m.parent AND m.parent >= 2
SELECT m.id AS id, a.level AS level
FROM messages AS m
LEFT JOIN authors AS a ON a.level = m.parent AND a.level < 9 AND a.level >= 2
WHERE m.parent >= 2 AND m._arrival <= s

-- title: of an OR, what all of its arms say
select m.id as one, r.id as other from messages m, messages r where (m.id = 2 or m.id between 4 and 5) and r.parent < m.id
-- becomes
-- r.parent <= 4 follows from (m.id = 2 OR m.id BETWEEN 4 AND 5) AND r.parent < m.id
SELECT m.id AS one, r.id AS other
FROM messages AS m
CROSS JOIN messages AS r
WHERE (m.id = 2 OR m.id BETWEEN 4 AND 5)
  AND r.parent < m.id
  AND r.parent <= 4
  AND m._arrival <= s
  AND r._arrival <= s

-- title: a sum that wraps around says nothing
select m.id as one, r.id as other from messages m, messages r where m.id > 2 and r.id >= m.id + 1
-- becomes
SELECT m.id AS one, r.id AS other
FROM messages AS m
CROSS JOIN messages AS r
WHERE m.id > 2 AND r.id >= m.id + 1 AND m._arrival <= s AND r._arrival <= s

-- title: days
select m.id as one, r.id as other from messages m, messages r
where m.due >= date'2026-01-03' and r.due >= m.due - interval 1 day
-- becomes
-- r.due >= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) follows from m.due >= CAST('2026-01-03' AS DATE) AND r.due >= m.due - INTERVAL '1' DAY
SELECT m.id AS one, r.id AS other
FROM messages AS m
CROSS JOIN messages AS r
WHERE m.due >= CAST('2026-01-03' AS DATE)
  AND r.due >= m.due - INTERVAL '1' DAY
  AND r.due >= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= s
  AND r._arrival <= s
