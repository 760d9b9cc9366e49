-- title: not answered within a day (paper, section 4.3)
select m.id from messages m
where now() > m.ts + interval 1 day
  and not exists (select 1 from messages r where r.parent = m.id)
-- becomes
WITH read_messages AS (
  SELECT id, ts, parent, ts AS _arrival FROM db.messages
)
SELECT
  m.id AS id,
  (
    m.ts + INTERVAL '1' DAY
  ) + INTERVAL '1' MICROSECOND AS _matched_at
FROM read_messages AS m
WHERE
  m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
  AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r
    WHERE
      r.parent = m.id
      AND r._arrival <= (
        m.ts + INTERVAL '1' DAY
      ) + INTERVAL '1' MICROSECOND
      AND r.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
          AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
      )
  )

-- title: the same, knowing that replies come after what they reply to
-- assume: r.ts >= m.ts
select m.id from messages m
where now() > m.ts + interval 1 day
  and not exists (select 1 from messages r where r.parent = m.id)
-- becomes
WITH read_messages AS (
  SELECT id, ts, parent, ts AS _arrival FROM db.messages
)
SELECT
  m.id AS id,
  (
    m.ts + INTERVAL '1' DAY
  ) + INTERVAL '1' MICROSECOND AS _matched_at
FROM read_messages AS m
WHERE
  m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
  AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r
    WHERE
      r.parent = m.id
      AND r._arrival <= (
        m.ts + INTERVAL '1' DAY
      ) + INTERVAL '1' MICROSECOND
      AND r.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
      AND r.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
          AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR - INTERVAL '1' MICROSECOND
      )
  )

