-- title: no reply in the last twelve hours (paper, section 4.3): may be true again
select m.id from messages m
where not exists (
  select 1 from messages r where r.parent = m.id and now() < r.ts + interval 12 hours
)
-- becomes
WITH read_messages AS (
  SELECT rowid AS _row_id, ts AS _arrival, ts, id, parent FROM db.messages
),
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
p1_1_first AS (
  SELECT
    *
  FROM (
    SELECT
      _k.*,
      ROW_NUMBER() OVER (PARTITION BY _k._key_m__row_id ORDER BY _k._at NULLS LAST) AS _rank
    FROM p1_1_found AS _k
  ) AS _r
  WHERE
    _rank = 1
),
p1_1_tried_before_1 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    _b.m._arrival AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    _b._key_m__row_id,
    _b.m,
    r.ts + INTERVAL '12' HOURS AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS r
  WHERE
    _b.m._arrival <= r.ts + INTERVAL '12' HOURS
    AND r.parent = _b.m.id
    AND r._arrival < r.ts + INTERVAL '12' HOURS
    AND NOT (
      r.ts + INTERVAL '12' HOURS
    ) IS NULL
    AND r.ts + INTERVAL '12' HOURS <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_earlier AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1 AS _k
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
)
SELECT
  _f.m.id AS id,
  _f._at AS _matched_at
FROM p1_1_first AS _f
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_1_earlier AS _e
    WHERE
      _e._key_m__row_id IS NOT DISTINCT FROM _f._key_m__row_id AND _e._at < _f._at
  )

