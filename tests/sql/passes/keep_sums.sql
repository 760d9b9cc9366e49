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
