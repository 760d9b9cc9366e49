-- title: a join to a derived table counts its rows by value
select a.level, v.author from authors a join (select distinct author from messages) v on v.author = a.author
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, author FROM db.messages
),
read_authors AS (
  SELECT rowid AS _row_id, level, author FROM db.authors
),
p1_1_tried_1 AS (
  SELECT
    a._row_id AS _key_a__row_id,
    v.author AS _key_v_1,
    STRUCT(a.level AS level, a.author AS author) AS a,
    STRUCT(v.author AS author) AS v,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN read_authors AS a
  CROSS JOIN (
    SELECT DISTINCT
      messages.author AS author
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS v
  WHERE
    v.author = a.author
    AND messages.author IS NOT DISTINCT FROM v.author
    AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS messages
      WHERE
        messages.author IS NOT DISTINCT FROM _k.v.author AND messages._arrival <= _k._at
    )
),
p1_1_first AS (
  SELECT
    *
  FROM (
    SELECT
      _k.*,
      ROW_NUMBER() OVER (PARTITION BY _k._key_a__row_id, _k._key_v_1 ORDER BY _k._at NULLS LAST) AS _rank
    FROM p1_1_found AS _k
  ) AS _r
  WHERE
    _rank = 1
),
p1_1_tried_before_1 AS (
  SELECT
    _b._key_a__row_id,
    _b._key_v_1,
    _b.a,
    _b.v,
    messages._arrival AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS messages
  WHERE
    _b.v.author = _b.a.author
    AND messages.author IS NOT DISTINCT FROM _b.v.author
    AND messages._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_earlier AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS messages
      WHERE
        messages.author IS NOT DISTINCT FROM _k.v.author AND messages._arrival <= _k._at
    )
)
SELECT
  _f.a.level AS level,
  _f.v.author AS author,
  _f._at AS _matched_at
FROM p1_1_first AS _f
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_1_earlier AS _e
    WHERE
      _e._key_a__row_id IS NOT DISTINCT FROM _f._key_a__row_id
      AND _e._key_v_1 IS NOT DISTINCT FROM _f._key_v_1
      AND _e._at < _f._at
  )

-- title: tables by value whose names and columns run together
select a.b_c, a_b.c
from (select distinct id as b_c from messages) a
join (select distinct parent as c from messages) a_b on a_b.c > a.b_c
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, id, parent FROM db.messages
),
p1_1_tried_1 AS (
  SELECT
    a.b_c AS _key_a_1,
    a_b.c AS _key_a_b_1,
    STRUCT(a.b_c AS b_c) AS a,
    STRUCT(a_b.c AS c) AS a_b,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      messages.id AS b_c
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS a
  CROSS JOIN (
    SELECT DISTINCT
      messages_2.parent AS c
    FROM read_messages AS messages_2
    WHERE
      messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS a_b
  WHERE
    a_b.c > a.b_c
    AND messages.id IS NOT DISTINCT FROM a.b_c
    AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    a.b_c AS _key_a_1,
    a_b.c AS _key_a_b_1,
    STRUCT(a.b_c AS b_c) AS a,
    STRUCT(a_b.c AS c) AS a_b,
    messages_2._arrival AS _at
  FROM read_messages AS messages_2
  CROSS JOIN (
    SELECT DISTINCT
      messages.id AS b_c
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS a
  CROSS JOIN (
    SELECT DISTINCT
      messages_2.parent AS c
    FROM read_messages AS messages_2
    WHERE
      messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS a_b
  WHERE
    a_b.c > a.b_c
    AND messages_2.parent IS NOT DISTINCT FROM a_b.c
    AND messages_2._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS messages
      WHERE
        messages.id IS NOT DISTINCT FROM _k.a.b_c AND messages._arrival <= _k._at
    )
    AND EXISTS(
      SELECT
        1
      FROM read_messages AS messages_2
      WHERE
        messages_2.parent IS NOT DISTINCT FROM _k.a_b.c AND messages_2._arrival <= _k._at
    )
),
-- …

