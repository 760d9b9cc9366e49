-- title: nested NOT EXISTS
select m.id from messages m where not exists (
  select 1 from messages r where r.parent = m.id
    and not exists (select 1 from messages u where u.parent = r.id)
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
-- …
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
-- …

