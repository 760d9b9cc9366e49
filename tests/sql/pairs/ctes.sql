-- title: a CTE of a subquery has the name of a table
select m.id from messages m
where exists (with messages as (select author from authors where level = 1) select 1 from messages where author = m.author)
-- becomes
-- …
read_authors AS (
  SELECT level, author FROM db.authors
),
-- …
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_authors AS authors
      WHERE
        authors.level = 1 AND authors.author = _k.m.author
    )
),
-- …

-- title: a CTE of a subquery refers to the query around it
select m.id from messages m
where not exists (with r as (select id, due from messages where parent = m.id), late as (select id from r where due > m.due) select 1 from late)
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent, due FROM db.messages
)
SELECT
  m.id AS id,
  m._arrival AS _matched_at
FROM read_messages AS m
WHERE
  m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS messages
    WHERE
      messages.parent = m.id
      AND messages.due > m.due
      AND messages._arrival <= m._arrival
      AND messages.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )

-- title: CTEs of one name in two places
with r as (select id, author from messages where now() > due)
select r.id, q.author from r
join (with r as (select author from authors) select author from r) q on q.author = r.author
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, due, author FROM db.messages
),
read_authors AS (
  SELECT author FROM db.authors
)
SELECT
  messages.id AS id,
  authors.author AS author,
  GREATEST(messages._arrival, messages.due + INTERVAL '1' MICROSECOND) AS _matched_at
FROM read_messages AS messages
CROSS JOIN read_authors AS authors
WHERE
  authors.author = messages.author
  AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '1' MICROSECOND
UNION ALL
-- …

