-- title: OR becomes alternatives, what is free of time stays one piece
select id from messages where (parent = 1 or author is null) and (due < now() or ts < now() - interval 1 day)
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE (messages.parent = 1 OR messages.author IS NULL)
  AND messages._arrival <= s
  AND messages.due + INTERVAL '1' MICROSECOND <= s
-- OR, for the same derivation
SELECT messages.id AS id
FROM messages AS messages
WHERE (messages.parent = 1 OR messages.author IS NULL)
  AND messages._arrival <= s
  AND (messages.ts + INTERVAL '1' DAY) + INTERVAL '1' MICROSECOND <= s

-- title: A OR (A AND B) is A
select id from messages where due < now() or (due < now() and ts < now() - interval 1 day)
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages._arrival <= s AND messages.due + INTERVAL '1' MICROSECOND <= s

-- title: EXISTS in EXISTS is a join
select m.id from messages m where exists (select 1 from messages r where r.parent = m.id
  and exists (select 1 from authors a where a.author = r.author))
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE m._arrival <= s
  AND EXISTS(SELECT 1 FROM messages AS r CROSS JOIN authors AS a WHERE r.parent = m.id AND a.author = r.author AND r._arrival <= s)

-- title: NOT EXISTS over a union is none of each
select m.id from messages m where not exists
  (select id from messages r where r.parent = m.id union select level from authors a where a.author = m.author)
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE m._arrival <= s
  AND NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND r._arrival <= s)
  AND NOT EXISTS(SELECT 1 FROM authors AS a WHERE a.author = m.author)

-- title: all values of a derived table, and one EXISTS that says when each is there
select x.author from (select distinct author from messages where due < now()) x
-- becomes
SELECT x.author AS author
FROM (SELECT DISTINCT messages.author AS author FROM messages AS messages WHERE messages._arrival <= s AND messages.due + INTERVAL '1' MICROSECOND <= s) AS x
WHERE EXISTS(SELECT 1 FROM messages AS messages WHERE messages.author IS NOT DISTINCT FROM x.author AND messages._arrival <= s AND messages.due + INTERVAL '1' MICROSECOND <= s)
