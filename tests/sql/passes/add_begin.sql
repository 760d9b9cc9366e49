-- title: rows of a static table alone hold from the begin of time on
select level + 10 as level from authors where level < 3 union all select id from messages
-- becomes
SELECT authors.level + 10 AS level
FROM authors AS authors
WHERE authors.level < 3 AND (SELECT at FROM time_begins) <= s
UNION ALL
SELECT messages.id AS level
FROM messages AS messages
WHERE messages._arrival <= s

-- title: the same beside a row that must not be there
select a.author from authors a where not exists (select 1 from messages m where m.author = a.author)
-- becomes
SELECT a.author AS author
FROM authors AS a
WHERE (SELECT at FROM time_begins) <= s
  AND NOT EXISTS(SELECT 1 FROM messages AS m WHERE m.author = a.author AND m._arrival <= s)

-- title: from the configured begin on
-- begin: 2026-01-03 00:00:00
select id from messages where due > now()
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages._arrival <= s
  AND CAST('2026-01-03 00:00:00+00:00' AS TIMESTAMP) <= s
  AND s < messages.due
