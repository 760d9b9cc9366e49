-- title: a derived table is merged into what uses it
select x.id from (select id, due as d from messages where parent is null) x where now() > x.d
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages.parent IS NULL AND NOW() > messages.due

-- title: NOT IN: no equal row, no NULL among the rows, no NULL before it
select m.id from messages m where m.author not in (select author from authors where level > 2 or author = 'bob')
  or m.parent = 7
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE (NOT EXISTS(SELECT 1 FROM authors AS authors WHERE (authors.level > 2 OR authors.author = 'bob') AND m.author = authors.author) AND NOT EXISTS(SELECT 1 FROM authors AS authors_2 WHERE (authors_2.level > 2 OR authors_2.author = 'bob') AND authors_2.author IS NULL) AND NOT EXISTS(SELECT 1 FROM authors AS authors_3 WHERE (authors_3.level > 2 OR authors_3.author = 'bob') AND m.author IS NULL) OR m.parent = 7)

-- title: an outer join of a table that grows: with a match, and without
select m.id, r.id as reply from messages m left join messages r on r.parent = m.id
-- becomes
SELECT m.id AS id, r.id AS reply
FROM messages AS m
CROSS JOIN messages AS r
WHERE r.parent = m.id
UNION ALL
SELECT m.id AS id, CAST(NULL AS INT) AS reply
FROM messages AS m
WHERE NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id)

-- title: NOT of an OR with unknown parts
select id from messages where not (due < now() or parent = 1)
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE NOT (messages.due < NOW()) AND NOT (messages.parent = 1)

-- title: EXCEPT: in one, not in the other, NULLs being equal
select author from messages except select author from authors where level = 1
-- becomes
SELECT v.c1 AS author
FROM (SELECT DISTINCT messages.author AS c1 FROM messages AS messages) AS v
WHERE EXISTS(SELECT 1 FROM messages AS messages WHERE messages.author IS NOT DISTINCT FROM v.c1)
  AND NOT EXISTS(SELECT 1 FROM authors AS authors WHERE authors.level = 1 AND authors.author IS NOT DISTINCT FROM v.c1)

-- title: a DISTINCT derived table: its values, and when each is there
select a.level from authors a, (select distinct author from messages where due < now()) x
where a.author <=> x.author
-- becomes
SELECT a.level AS level
FROM authors AS a
CROSS JOIN (SELECT DISTINCT messages.author AS author FROM messages AS messages WHERE messages.due < NOW()) AS x
WHERE EXISTS(SELECT 1 FROM messages AS messages WHERE messages.due < NOW() AND messages.author IS NOT DISTINCT FROM x.author)
  AND a.author IS NOT DISTINCT FROM x.author

-- title: a derived table that looks outside
select id, (select max(q.level) from (select a.level from authors a where a.author = m.author) q) as level from messages m
-- becomes
-- refused by normalize_subqueries: a derived table uses a column of a query around it
-- in: m.author
