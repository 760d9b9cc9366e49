-- title: a view is the query that it names
select v.id from answered v
-- becomes
SELECT v.id
FROM (SELECT id, author FROM messages WHERE NOT parent IS NULL) AS v

-- title: a view over a view, its CTE in the place of its name
select id from answers
-- becomes
SELECT id
FROM (SELECT m.id, m.author FROM (SELECT id, author FROM messages WHERE NOT parent IS NULL) AS m WHERE m.author IN (SELECT author FROM (SELECT author FROM authors WHERE level < 3) AS a)) AS answers

-- title: what has another name in FROM
select m.id, z.b from messages m join authors z(a, b) on z.a = m.author
-- becomes
SELECT m.id, z.b
FROM messages AS m
JOIN (SELECT * FROM authors AS z) AS z(a, b) ON z.a = m.author
