-- title: NOT IN is null-aware
select m.id from messages m
where m.parent not in (select r.parent from messages r where r.author = 'bob')
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author, parent FROM db.messages
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
    WHERE
      r.author = 'bob'
      AND m.parent = r.parent
      AND r._arrival <= m._arrival
      AND r.parent IN (
        SELECT
          m.parent
        FROM read_messages AS m
        WHERE
          m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
          AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
      )
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r_2
    WHERE
      r_2.author = 'bob' AND r_2.parent IS NULL AND r_2._arrival <= m._arrival
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM read_messages AS r_3
    WHERE
      r_3.author = 'bob' AND m.parent IS NULL AND r_3._arrival <= m._arrival
  )

-- title: NOT IN an EXCEPT that sees the row around
select m.id from messages m where m.author not in (select r.author from messages r where r.parent = m.id except select a.author from authors a)
-- becomes
-- …
p1_1_tried_1_1_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r._row_id AS _key_r__row_id,
    STRUCT(r.parent AS parent, r.author AS author, r._arrival AS _arrival) AS r,
    _k.m
  FROM p1_1_tried_1 AS _k
  CROSS JOIN read_messages AS r
  WHERE
    r.parent = _k.m.id AND _k.m.author = r.author AND r._arrival <= _k._at
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
        a.author IS NOT DISTINCT FROM _k.r.author
    )
),
p1_1_tried_1_2_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r_2._row_id AS _key_r_2__row_id,
    STRUCT(r_2.parent AS parent, r_2.author AS author, r_2._arrival AS _arrival) AS r_2,
    _k.m
  FROM p1_1_tried_1 AS _k
  CROSS JOIN read_messages AS r_2
  WHERE
    r_2.parent = _k.m.id AND r_2.author IS NULL AND r_2._arrival <= _k._at
),
-- …
p1_1_tried_1_3_pairs AS (
  SELECT
    _k._key_m__row_id,
    _k._at,
    r_3._row_id AS _key_r_3__row_id,
    STRUCT(r_3.parent AS parent, r_3._arrival AS _arrival, r_3.author AS author) AS r_3,
    _k.m
  FROM p1_1_tried_1 AS _k
  CROSS JOIN read_messages AS r_3
  WHERE
    r_3.parent = _k.m.id AND _k.m.author IS NULL AND r_3._arrival <= _k._at
),
-- …

