-- title: rows that begin and end
select author, count(*) as n, sum(id) as s from messages where due > now() group by author having count(*) > 0
-- becomes
-- kept of a group: rows, values of CAST(messages.id AS BIGINT), sum of CAST(messages.id AS BIGINT)
-- may change at messages.due
SELECT messages.author AS author, COUNT(*) AS n, SUM(messages.id) AS s
FROM messages AS messages
WHERE messages.due > NOW()
GROUP BY messages.author
HAVING COUNT(*) > 0

-- title: each value once
select count(distinct author) as n from messages
-- becomes
-- kept of a group: rows, different values of messages.author
SELECT COUNT(DISTINCT messages.author) AS n
FROM messages AS messages

-- title: an extreme of rows that stay
select author, max(id) as n from messages where parent < 3 group by author
-- becomes
-- kept of a group: rows, greatest messages.id
SELECT messages.author AS author, MAX(messages.id) AS n
FROM messages AS messages
WHERE messages.parent < 3
GROUP BY messages.author

-- title: an extreme of rows that end
select author, max(id) as n from messages where due > now() group by author
-- becomes
-- may change at messages.due
SELECT messages.author AS author, MAX(messages.id) AS n
FROM messages AS messages
WHERE messages.due > NOW()
GROUP BY messages.author

-- title: rows that hold twice
select author, count(*) as n from messages where ts <> now() group by author
-- becomes
-- may change at messages.ts
-- may change at messages.ts + INTERVAL '1' MICROSECOND
SELECT messages.author AS author, COUNT(*) AS n
FROM messages AS messages
WHERE messages.ts <> NOW()
GROUP BY messages.author

-- title: rows of two tables
select m.author, count(r.id) as n from messages m join messages r on r.parent = m.id where r.author is not null group by m.author
-- becomes
-- kept of a group: rows, values of r.id
SELECT m.author AS author, COUNT(r.id) AS n
FROM messages AS m
JOIN messages AS r ON r.parent = m.id
WHERE NOT r.author IS NULL
GROUP BY m.author

-- title: the first rows of each key
select id, author from (select id, author, row_number() over (partition by author order by ts desc) as n from messages) where n <= 2
-- becomes
-- kept of a group: its first 2 rows by messages.ts DESC, messages.id, messages.parent, messages.due
SELECT _0.id AS id, _0.author AS author
FROM (SELECT messages.id AS id, messages.author AS author, ROW_NUMBER() OVER (PARTITION BY messages.author ORDER BY messages.ts DESC, messages.id, messages.parent, messages.author, messages.due, messages.ts) AS n FROM messages AS messages) AS _0
WHERE _0.n <= 2

-- title: first rows of which one may end
select id from (select id, rank() over (order by id) as n from messages where due > now()) where n <= 2
-- becomes
-- may change at messages.due
SELECT _0.id AS id
FROM (SELECT messages.id AS id, RANK() OVER (ORDER BY messages.id) AS n FROM messages AS messages WHERE messages.due > NOW()) AS _0
WHERE _0.n <= 2

-- title: a limit
select id, author from messages order by author desc limit 3
-- becomes
-- kept of a group: its first 3 rows by messages.author DESC, messages.id
SELECT messages.id AS id, messages.author AS author
FROM messages AS messages
ORDER BY messages.author DESC, messages.id, messages.author
LIMIT 3
