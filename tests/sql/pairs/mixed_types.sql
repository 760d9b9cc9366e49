-- title: a date beside a timestamp is a timestamp
select z.n, cast(z.c as string) as c from (select id as n, to_date(ts) as c from messages union all select -id, due from messages) z
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, due, ts FROM db.messages
)
SELECT
  messages.id AS n,
  CAST(CAST(TO_DATE(messages.ts) AS TIMESTAMP) AS STRING) AS c,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  -messages_2.id AS n,
  CAST(messages_2.due AS STRING) AS c,
  messages_2._arrival AS _matched_at
FROM read_messages AS messages_2
WHERE
  messages_2._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: a whole number beside a decimal is a decimal
with z as (select id as c, 'm' as s from messages union all select cast(id as decimal(10, 2)), 'a' from messages) select z.c || z.s as c from z
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, id FROM db.messages
)
SELECT
  CAST(messages.id AS DECIMAL(12, 2)) || 'm' AS c,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  CAST(CAST(messages_2.id AS DECIMAL(10, 2)) AS DECIMAL(12, 2)) || 'a' AS c,
  messages_2._arrival AS _matched_at
FROM read_messages AS messages_2
WHERE
  messages_2._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: values count once before they are cast
select z.c || z.s as c from (select distinct parent as c, 'm' as s from messages union all select cast(id as decimal(10, 2)), 'a' from messages) z
-- becomes
-- …
p1_1_tried_1 AS (
  SELECT
    v.c1 AS _key_v_1,
    v.c2 AS _key_v_2,
    STRUCT(v.c2 AS c2, v.c1 AS c1) AS v,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      messages.parent AS c1,
      'm' AS c2
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS v
  WHERE
    messages.parent IS NOT DISTINCT FROM v.c1
    AND 'm' IS NOT DISTINCT FROM v.c2
    AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS messages
      WHERE
        messages.parent IS NOT DISTINCT FROM _k.v.c1
        AND 'm' IS NOT DISTINCT FROM _k.v.c2
        AND messages._arrival <= _k._at
    )
),
-- …

-- title: NULL on one side has the type of the other
select z.c || '!' as c, z.id from (select null as c, id from messages union all select cast(parent as decimal(10, 2)), -id from messages) z
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent FROM db.messages
)
SELECT
  CAST(NULL AS DECIMAL(10, 2)) || '!' AS c,
  messages.id AS id,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  CAST(messages_2.parent AS DECIMAL(10, 2)) || '!' AS c,
  -messages_2.id AS id,
  messages_2._arrival AS _matched_at
FROM read_messages AS messages_2
WHERE
  messages_2._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: a set operation under NOT IN
select m.id from messages m where m.id not in (select level from authors union all select parent / 2 from messages where parent > 1)
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent FROM db.messages
),
read_authors AS (
  SELECT level FROM db.authors
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
    FROM read_authors AS authors
    WHERE
      m.id = CAST(authors.level AS DOUBLE)
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS messages
    WHERE
      messages.parent > 1
      AND m.id = (
        messages.parent / 2
      )
      AND messages._arrival <= m._arrival
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_authors AS authors_2
    WHERE
      CAST(authors_2.level AS DOUBLE) IS NULL
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS messages_2
    WHERE
      messages_2.parent > 1
      AND (
        messages_2.parent / 2
      ) IS NULL
      AND messages_2._arrival <= m._arrival
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_authors AS authors_3
    WHERE
      m.id IS NULL
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS messages_3
    WHERE
      messages_3.parent > 1 AND m.id IS NULL AND messages_3._arrival <= m._arrival
  )

