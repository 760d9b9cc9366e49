-- title: EXISTS starts an answer when an inner row arrives
select m.id from messages m where exists (select 1 from messages r where r.parent = m.id)
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
    r._arrival AS _at
  FROM read_messages AS r
  CROSS JOIN read_messages AS m
  WHERE
    m._arrival <= r._arrival
    AND r.parent = m.id
    AND r._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
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
    r._arrival AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS r
  WHERE
    _b.m._arrival <= r._arrival
    AND r.parent = _b.m.id
    AND r._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_earlier AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
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

-- title: EXCEPT under EXISTS needs no table of its values
select m.id from messages m where exists (select r.author from messages r where r.parent = m.id except select a.author from authors a where a.level > 1)
-- becomes
-- …
p1_1_tried_1_1_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r._row_id AS _key_r__row_id,
    STRUCT(r.parent AS parent, r._arrival AS _arrival, r.author AS author) AS r,
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
      FROM read_authors AS a
      WHERE
        a.level > 1 AND a.author IS NOT DISTINCT FROM _k.r.author
    )
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM p1_1_tried_1_1_witnesses AS _w
      WHERE
        _w._key_m__row_id IS NOT DISTINCT FROM _k._key_m__row_id
        AND _w._at IS NOT DISTINCT FROM _k._at
    )
),
-- …

-- title: INTERSECT under NOT EXISTS, both sides of which see the row around
select m.id from messages m where not exists (select r.author from messages r where r.parent = m.id intersect select s.author from messages s where s.due > m.ts)
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent, author, due, ts FROM db.messages
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
    FROM read_messages AS r
    CROSS JOIN read_messages AS s
    WHERE
      r.parent = m.id
      AND s.due > m.ts
      AND s.author IS NOT DISTINCT FROM r.author
      AND r._arrival <= m._arrival
      AND s._arrival <= m._arrival
      AND r.parent IN (
        SELECT
          m.id
        FROM read_messages AS m
        WHERE
          m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )

-- title: an aggregate in a subquery of the select list makes no aggregate
select m.id from messages m where exists (select (select max(level) from authors) as top from messages r where r.parent = m.id)
-- becomes
-- …
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
),
-- …

