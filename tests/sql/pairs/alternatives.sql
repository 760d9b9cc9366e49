-- title: of many alternatives the least start counts, computed once
select m.id, a.level from messages m, authors a
where a.author = m.author and (m.id > 2 or now() >= m.due) and (a.level = 1 or now() >= m.ts + interval 1 day)
  and (m.parent is null or now() < m.due - interval 12 hours)
-- becomes
WITH read_messages AS (
  SELECT id, author, ts AS _arrival, ts, due, parent FROM db.messages
),
read_authors AS (
  SELECT level, author FROM db.authors
)
SELECT
  _f.id,
  _f.level,
  _f._matched_at
FROM (
  SELECT
    m.id AS id,
    a.level AS level,
    LEAST(
      CASE
        WHEN m.id > 2
        AND a.level = 1
        AND m.parent IS NULL
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        THEN m._arrival
      END,
      CASE
        WHEN m.id > 2
        AND a.level = 1
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m._arrival < m.due - INTERVAL '12' HOURS
        THEN m._arrival
      END,
      CASE
        WHEN m.id > 2
        AND m.parent IS NULL
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
        THEN m.ts + INTERVAL '1' DAY
      END,
      CASE
        WHEN m.id > 2
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
        AND m._arrival < m.due - INTERVAL '12' HOURS
        AND m.ts + INTERVAL '1' DAY < m.due - INTERVAL '12' HOURS
        THEN m.ts + INTERVAL '1' DAY
      END,
      CASE
        WHEN a.level = 1
        AND m.parent IS NULL
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        THEN GREATEST(m._arrival, m.due)
      END,
      CASE
        WHEN a.level = 1
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m._arrival < m.due - INTERVAL '12' HOURS
        AND m.due < m.due - INTERVAL '12' HOURS
        THEN GREATEST(m._arrival, m.due)
      END,
      CASE
        WHEN m.parent IS NULL
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
        THEN GREATEST(m.due, m.ts + INTERVAL '1' DAY)
      END,
      CASE
        WHEN m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
        AND m._arrival < m.due - INTERVAL '12' HOURS
        AND m.due < m.due - INTERVAL '12' HOURS
        AND m.ts + INTERVAL '1' DAY < m.due - INTERVAL '12' HOURS
        THEN GREATEST(m.due, m.ts + INTERVAL '1' DAY)
      END
    ) AS _matched_at
  FROM read_messages AS m
  CROSS JOIN read_authors AS a
  WHERE
    a.author = m.author
    AND (
      m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
      OR m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
      OR m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    )
) AS _f
WHERE
  _f._matched_at > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND _f._matched_at <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: each table that can begin one has a branch
select m.id, r.id as reply from messages m join messages r on r.parent = m.id
where now() in (m.due, r.due) or now() >= r.ts + interval 1 day or r.id = 3 or m.id = 1 and now() < m.due
-- becomes
WITH read_messages AS (
  SELECT id, parent, ts AS _arrival, due, ts FROM db.messages
)
SELECT
  _f.id,
  _f.reply,
  _f._matched_at
FROM (
  SELECT
    m.id AS id,
    r.id AS reply,
    LEAST(
      CASE
        WHEN m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m._arrival < m.due + INTERVAL '1' MICROSECOND
        AND r._arrival < m.due + INTERVAL '1' MICROSECOND
        AND m.due < m.due + INTERVAL '1' MICROSECOND
        THEN GREATEST(m._arrival, r._arrival, m.due)
      END,
      CASE
        WHEN m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m._arrival < r.due + INTERVAL '1' MICROSECOND
        AND r._arrival < r.due + INTERVAL '1' MICROSECOND
        AND r.due < r.due + INTERVAL '1' MICROSECOND
        THEN GREATEST(m._arrival, r._arrival, r.due)
      END,
      CASE
        WHEN m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
        THEN GREATEST(m._arrival, r.ts + INTERVAL '1' DAY)
      END,
      CASE
        WHEN r.id = 3
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        THEN GREATEST(m._arrival, r._arrival)
      END,
      CASE
        WHEN m.id = 1
        AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
        AND m._arrival < m.due
        AND r._arrival < m.due
        THEN GREATEST(m._arrival, r._arrival)
      END
    ) AS _matched_at
  FROM read_messages AS m
  CROSS JOIN read_messages AS r
  WHERE
    r.parent = m.id
    AND (
      m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) OR m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    )
) AS _f
WHERE
  _f._matched_at > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND _f._matched_at <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
-- …

