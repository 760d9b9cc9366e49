-- title: no reply in the last twelve hours (paper, section 4.3): may be true again
select m.id from messages m
where not exists (
  select 1 from messages r where r.parent = m.id and now() < r.ts + interval 12 hours
)
-- becomes
-- …
p1_1_tried_1 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(m.id AS id, m._arrival AS _arrival) AS m,
    m._arrival AS _at
  FROM read_messages AS m
  WHERE
    m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(m.id AS id, m._arrival AS _arrival) AS m,
    r.ts + INTERVAL '12' HOURS AS _at
  FROM read_messages AS r
  CROSS JOIN read_messages AS m
  WHERE
    m._arrival <= r.ts + INTERVAL '12' HOURS
    AND r.parent = m.id
    AND r._arrival < r.ts + INTERVAL '12' HOURS
    AND NOT (
      r.ts + INTERVAL '12' HOURS
    ) IS NULL
    AND r.ts + INTERVAL '12' HOURS > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND r.ts + INTERVAL '12' HOURS <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id
        AND r._arrival <= _k._at
        AND _k._at < r.ts + INTERVAL '12' HOURS
    )
),
-- …

