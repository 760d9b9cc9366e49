-- title: before an instant, or from the next one on
select id from messages where now() > ts + interval 12 hours and due >= now()
-- becomes
-- NOW() > messages.ts + INTERVAL '12' HOURS   iff   (messages.ts + INTERVAL '12' HOURS) + INTERVAL '1' MICROSECOND <= s
-- messages.due >= NOW()   iff   s < messages.due + INTERVAL '1' MICROSECOND
SELECT messages.id AS id
FROM messages AS messages
WHERE (messages.ts + INTERVAL '12' HOURS) + INTERVAL '1' MICROSECOND <= s
  AND s < messages.due + INTERVAL '1' MICROSECOND

-- title: a comparison that is false holds nowhere with a NULL
select id from messages where not (now() < due)
-- becomes
-- NOT (NOW() < messages.due)   iff   messages.due <= s
SELECT messages.id AS id
FROM messages AS messages
WHERE messages.due <= s

-- title: a comparison that is unknown
select id from messages where (now() > due) is null
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE messages.due IS NULL

-- title: different: before or after
select id from messages where due <> now()
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE (s < messages.due OR messages.due + INTERVAL '1' MICROSECOND <= s)

-- title: a step function is solved at its step
select id from messages where date(now()) > date(ts)
-- becomes
-- CAST(NOW() AS DATE) > CAST(messages.ts AS DATE)   iff   CAST(DATE_ADD(CAST(messages.ts AS DATE), CAST(1 AS INT)) AS TIMESTAMP) <= s
SELECT messages.id AS id
FROM messages AS messages
WHERE CAST(DATE_ADD(CAST(messages.ts AS DATE), CAST(1 AS INT)) AS TIMESTAMP) <= s

-- title: in a subquery and in a derived table that counts by value
select m.id from messages m, (select distinct parent from messages where now() > due) x
where x.parent = m.id and not exists (select 1 from messages r where r.parent = m.id and now() < r.due)
-- becomes
-- NOW() > messages.due   iff   messages.due + INTERVAL '1' MICROSECOND <= s
-- NOW() < r.due   iff   s < r.due
SELECT m.id AS id
FROM messages AS m
CROSS JOIN (SELECT DISTINCT messages.parent AS parent FROM messages AS messages WHERE messages.due + INTERVAL '1' MICROSECOND <= s) AS x
WHERE EXISTS(SELECT 1 FROM messages AS messages WHERE messages.due + INTERVAL '1' MICROSECOND <= s AND messages.parent IS NOT DISTINCT FROM x.parent)
  AND x.parent = m.id
  AND NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND s < r.due)
