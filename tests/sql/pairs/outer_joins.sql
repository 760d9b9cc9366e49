-- title: a left join is the matches and the rows without one
select m.id, r.id as reply from messages m left join messages r on r.parent = m.id
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent FROM db.messages
)
SELECT
  m.id AS id,
  r.id AS reply,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS m
CROSS JOIN read_messages AS r
WHERE
  r.parent = m.id
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  m.id AS id,
  r.id AS reply,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS r
CROSS JOIN read_messages AS m
WHERE
  r.parent = m.id
  AND r._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  m.id AS id,
  CAST(NULL AS INT) AS reply,
  m._arrival AS _matched_at
FROM read_messages AS m
WHERE
  m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r
    WHERE
      r.parent = m.id
      AND r._arrival <= m._arrival
      AND r.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )

-- title: joins in parentheses are joined first
select m.id, r.id as reply, a.level from messages m
left join (messages r join (authors a) on a.author = r.author) on r.parent = m.id
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author, parent FROM db.messages
),
read_authors AS (
  SELECT level, author FROM db.authors
)
-- …
UNION ALL
SELECT
  m.id AS id,
  CAST(NULL AS INT) AS reply,
  CAST(NULL AS INT) AS level,
  m._arrival AS _matched_at
FROM read_messages AS m
WHERE
  m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r
    CROSS JOIN read_authors AS a
    WHERE
      a.author = r.author
      AND r.parent = m.id
      AND r._arrival <= m._arrival
      AND r.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )

-- title: what a static table says is looked up
select m.id, a.level, b.author as next from messages m
left join authors a on a.author = m.author
left join authors b on b.level = a.level + 1
where m.due < now() and coalesce(a.level, 0) < 3
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author, due FROM db.messages
),
read_authors AS (
  SELECT level, author FROM db.authors
)
SELECT
  m.id AS id,
  a.level AS level,
  b.author AS next,
  GREATEST(m._arrival, m.due + INTERVAL '1' MICROSECOND) AS _matched_at
FROM read_messages AS m
LEFT JOIN read_authors AS a
  ON a.author = m.author
LEFT JOIN read_authors AS b
  ON b.level = a.level + 1
WHERE
  COALESCE(a.level, 0) < 3
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '1' MICROSECOND
UNION ALL
-- …

-- title: a static table that says when is not
select m.id, a.level from messages m
left join authors a on a.author = m.author
where m.ts + a.level * interval 1 day < now()
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, ts, author FROM db.messages
),
read_authors AS (
  SELECT level, author FROM db.authors
)
SELECT
  m.id AS id,
  a.level AS level,
  GREATEST(m._arrival, (
    m.ts + a.level * INTERVAL '1' DAY
  ) + INTERVAL '1' MICROSECOND) AS _matched_at
FROM read_messages AS m
CROSS JOIN read_authors AS a
WHERE
  a.author = m.author
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND (
    m.ts + a.level * INTERVAL '1' DAY
  ) + INTERVAL '1' MICROSECOND <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
-- …

