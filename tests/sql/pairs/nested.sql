-- title: nested NOT EXISTS
select m.id from messages m where not exists (
  select 1 from messages r where r.parent = m.id
    and not exists (select 1 from messages u where u.parent = r.id)
)
-- becomes
WITH read_messages AS (
  SELECT rowid AS _row_id, ts AS _arrival, id, parent FROM db.messages
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
    u._arrival AS _at
  FROM read_messages AS u
  CROSS JOIN read_messages AS r
  CROSS JOIN read_messages AS m
  WHERE
    m._arrival <= u._arrival
    AND r.parent = m.id
    AND u.parent = r.id
    AND u._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND u._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_1_1_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r._row_id AS _key_r__row_id,
    STRUCT(r.parent AS parent, r._arrival AS _arrival, r.id AS id) AS r,
    _k.m
  FROM p1_1_tried_1 AS _k
  CROSS JOIN read_messages AS r
  WHERE
    r.parent = _k.m.id AND r._arrival <= _k._at
),
p1_1_tried_1_1_witnesses AS (
  SELECT
    _k.*
  FROM p1_1_tried_1_1_pairs AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS u
      WHERE
        u.parent = _k.r.id AND u._arrival <= _k._at
    )
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM p1_1_tried_1_1_witnesses AS _w
      WHERE
        _w._key_m__row_id IS NOT DISTINCT FROM _k._key_m__row_id
        AND _w._at IS NOT DISTINCT FROM _k._at
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
    u._arrival AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS r
  CROSS JOIN read_messages AS u
  WHERE
    _b.m._arrival <= u._arrival
    AND r.parent = _b.m.id
    AND u.parent = r.id
    AND u._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_1_1_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r._row_id AS _key_r__row_id,
    STRUCT(r.parent AS parent, r._arrival AS _arrival, r.id AS id) AS r,
    _k.m
  FROM p1_1_tried_before_1 AS _k
  CROSS JOIN read_messages AS r
  WHERE
    r.parent = _k.m.id AND r._arrival <= _k._at
),
p1_1_tried_before_1_1_witnesses AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1_1_pairs AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS u
      WHERE
        u.parent = _k.r.id AND u._arrival <= _k._at
    )
),
p1_1_earlier AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM p1_1_tried_before_1_1_witnesses AS _w
      WHERE
        _w._key_m__row_id IS NOT DISTINCT FROM _k._key_m__row_id
        AND _w._at IS NOT DISTINCT FROM _k._at
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

