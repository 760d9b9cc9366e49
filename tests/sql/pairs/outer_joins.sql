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
SELECT
  m.id AS id,
  r.id AS reply,
  a.level AS level,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS m
CROSS JOIN read_messages AS r
CROSS JOIN read_authors AS a
WHERE
  a.author = r.author
  AND r.parent = m.id
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  m.id AS id,
  r.id AS reply,
  a.level AS level,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS r
CROSS JOIN read_messages AS m
CROSS JOIN read_authors AS a
WHERE
  a.author = r.author
  AND r.parent = m.id
  AND r._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
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

-- title: parentheses around the first join say nothing
select m.id, r.id as reply from (messages m left join messages r on r.parent = m.id)
where m.author = 'ann'
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author, parent FROM db.messages
)
SELECT
  m.id AS id,
  r.id AS reply,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS m
CROSS JOIN read_messages AS r
WHERE
  r.parent = m.id
  AND m.author = 'ann'
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
  AND m.author = 'ann'
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
  m.author = 'ann'
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
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
          m.author = 'ann'
          AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )

