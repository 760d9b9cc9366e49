-- title: arrivals alone
select author, count(*) as n from messages group by author
-- becomes
-- kept of a group: rows
SELECT messages.author AS author, COUNT(*) AS n
FROM messages AS messages
GROUP BY messages.author

-- title: the bound of each row
select author, count(*) as n from messages where due > now() group by author
-- becomes
-- kept of a group: rows
-- may change at messages.due
SELECT messages.author AS author, COUNT(*) AS n
FROM messages AS messages
WHERE messages.due > NOW()
GROUP BY messages.author

-- title: an extreme is that of some row
select author from messages group by author having max(ts) < now() - interval 12 hours
-- becomes
-- may change at (messages.ts + INTERVAL '12' HOURS) + INTERVAL '1' MICROSECOND
SELECT messages.author AS author
FROM messages AS messages
GROUP BY messages.author
HAVING MAX(messages.ts) < NOW() - INTERVAL '12' HOURS

-- title: a comparison inside an aggregate
select author, count_if(due < now()) as n from messages group by author
-- becomes
-- may change at messages.due + INTERVAL '1' MICROSECOND
SELECT messages.author AS author, COUNT_IF(messages.due < NOW()) AS n
FROM messages AS messages
GROUP BY messages.author

-- title: a total of several rows
select author from messages group by author having timestamp '2026-01-01' + make_interval(0, 0, 0, sum(id)) < now()
-- becomes
-- refused by find_changes: now() is compared with what is computed from several rows
-- in: SUM(messages.id)
