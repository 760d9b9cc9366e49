-- title: one value whatever there is
select id, (select max(e.ts) from messages e where e.author = m.author) as latest from messages m
-- becomes
SELECT m.id AS id, (SELECT MAX(e.ts) AS `max(ts)` FROM messages AS e WHERE e.author = m.author) AS latest
FROM messages AS m

-- title: one of several
select id, (select a.level from authors a where a.author = m.author) as level from messages m
-- becomes
-- refused by refuse_subqueries: a subquery that may give several rows stands where one value does
-- in: (SELECT a.level AS level FROM authors AS a WHERE a.author = m.author)

-- title: two columns for a value
select id, (select max(a.level), min(a.level) from authors a) as level from messages m
-- becomes
-- refused by refuse_subqueries: a subquery of 2 columns stands where one value does
-- in: (SELECT MAX(a.level) AS `max(level)`, MIN(a.level) AS `min(level)` FROM authors AS a)

-- title: a table two levels up
select id from messages m where exists (select 1 from messages r where r.parent = m.id and exists (select 1 from authors a where a.author = m.author))
-- becomes
-- refused by refuse_subqueries: a subquery refers to a table two levels up, which Spark does not support
-- in: m.author

-- title: the second of those that belong to a row
select id, (select e.id from messages e where e.parent = m.id order by e.id limit 1 offset 1) as second from messages m
-- becomes
-- refused by refuse_subqueries: OFFSET, or the LIMIT of a set operation, in a subquery that uses columns of the query around it
-- in: SELECT e.id AS id FROM messages AS e WHERE e.parent = m.id ORDER BY e.id LIMIT 1 OFFSET 1
