-- title: DISTINCT delivers a value once ever
select distinct author from messages where due <= now()
-- becomes
WITH read_messages AS (
  SELECT author, ts AS _arrival, due FROM db.messages
),
p1_new AS (
  SELECT
    messages.author AS author,
    GREATEST(messages._arrival, messages.due) AS _matched_at
  FROM read_messages AS messages
  WHERE
    messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    messages.author AS author,
    GREATEST(messages._arrival, messages.due) AS _matched_at
  FROM read_messages AS messages
  WHERE
    messages.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_old AS (
  SELECT
    messages.author AS author,
    GREATEST(messages._arrival, messages.due) AS _matched_at
  FROM read_messages AS messages
  WHERE
    messages._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
)
SELECT
  _n.author,
  MIN(_n._matched_at) AS _matched_at
FROM p1_new AS _n
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_old AS _o
    WHERE
      _o.author IS NOT DISTINCT FROM _n.author
  )
GROUP BY
  _n.author

-- title: UNION of a growing and a static table
select author from messages union select author from authors
-- becomes
WITH read_messages AS (
  SELECT author, ts AS _arrival FROM db.messages
),
read_authors AS (
  SELECT author FROM db.authors
),
time_begins AS (
  SELECT MIN(_arrival) AS at FROM (SELECT _arrival FROM read_messages) AS arrivals
),
p1_new AS (
  SELECT
    messages.author AS author,
    messages._arrival AS _matched_at
  FROM read_messages AS messages
  WHERE
    messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    authors.author AS author,
    (
      SELECT
        at
      FROM time_begins
    ) AS _matched_at
  FROM read_authors AS authors
  WHERE
    (
      SELECT
        at
      FROM time_begins
    ) > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND (
      SELECT
        at
      FROM time_begins
    ) <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_old AS (
  SELECT
    messages.author AS author,
    messages._arrival AS _matched_at
  FROM read_messages AS messages
  WHERE
    messages._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    authors.author AS author,
    (
      SELECT
        at
      FROM time_begins
    ) AS _matched_at
  FROM read_authors AS authors
  WHERE
    (
      SELECT
        at
      FROM time_begins
    ) <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
)
SELECT
  _n.author,
  MIN(_n._matched_at) AS _matched_at
FROM p1_new AS _n
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_old AS _o
    WHERE
      _o.author IS NOT DISTINCT FROM _n.author
  )
GROUP BY
  _n.author

-- title: EXCEPT is EXISTS and NOT EXISTS on values
select id from messages except select parent from messages
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, id, parent FROM db.messages
),
p1_1_tried_1 AS (
  SELECT
    v.c1 AS _key_v_c1,
    STRUCT(v.c1 AS c1) AS v,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      messages.id AS c1
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS v
  WHERE
    messages.id IS NOT DISTINCT FROM v.c1
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
        messages.id IS NOT DISTINCT FROM _k.v.c1 AND messages._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS messages_2
      WHERE
        messages_2.parent IS NOT DISTINCT FROM _k.v.c1 AND messages_2._arrival <= _k._at
    )
),
p1_1_first AS (
  SELECT
    *
  FROM (
    SELECT
      _k.*,
      ROW_NUMBER() OVER (PARTITION BY _k._key_v_c1 ORDER BY _k._at NULLS LAST) AS _rank
    FROM p1_1_found AS _k
  ) AS _r
  WHERE
    _rank = 1
),
p1_1_tried_before_1 AS (
  SELECT
    _b._key_v_c1,
    _b.v,
    messages._arrival AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS messages
  WHERE
    messages.id IS NOT DISTINCT FROM _b.v.c1
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
        messages.id IS NOT DISTINCT FROM _k.v.c1 AND messages._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS messages_2
      WHERE
        messages_2.parent IS NOT DISTINCT FROM _k.v.c1 AND messages_2._arrival <= _k._at
    )
)
SELECT
  _f.v.c1 AS id,
  _f._at AS _matched_at
FROM p1_1_first AS _f
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_1_earlier AS _e
    WHERE
      _e._key_v_c1 IS NOT DISTINCT FROM _f._key_v_c1
  )

-- title: INTERSECT is EXISTS in both
select author from messages intersect select author from authors
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, author FROM db.messages
),
read_authors AS (
  SELECT author FROM db.authors
),
p1_1_tried_1 AS (
  SELECT
    v.c1 AS _key_v_c1,
    STRUCT(v.c1 AS c1) AS v,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      messages.author AS c1
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS v
  WHERE
    messages.author IS NOT DISTINCT FROM v.c1
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
        messages.author IS NOT DISTINCT FROM _k.v.c1 AND messages._arrival <= _k._at
    )
    AND EXISTS(
      SELECT
        1
      FROM read_authors AS authors
      WHERE
        authors.author IS NOT DISTINCT FROM _k.v.c1
    )
),
p1_1_first AS (
  SELECT
    *
  FROM (
    SELECT
      _k.*,
      ROW_NUMBER() OVER (PARTITION BY _k._key_v_c1 ORDER BY _k._at NULLS LAST) AS _rank
    FROM p1_1_found AS _k
  ) AS _r
  WHERE
    _rank = 1
),
p1_1_tried_before_1 AS (
  SELECT
    _b._key_v_c1,
    _b.v,
    messages._arrival AS _at
  FROM p1_1_first AS _b
  CROSS JOIN read_messages AS messages
  WHERE
    messages.author IS NOT DISTINCT FROM _b.v.c1
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
        messages.author IS NOT DISTINCT FROM _k.v.c1 AND messages._arrival <= _k._at
    )
    AND EXISTS(
      SELECT
        1
      FROM read_authors AS authors
      WHERE
        authors.author IS NOT DISTINCT FROM _k.v.c1
    )
)
SELECT
  _f.v.c1 AS author,
  _f._at AS _matched_at
FROM p1_1_first AS _f
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM p1_1_earlier AS _e
    WHERE
      _e._key_v_c1 IS NOT DISTINCT FROM _f._key_v_c1
  )

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
    v.author AS _key_v_author,
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
      ROW_NUMBER() OVER (PARTITION BY _k._key_a__row_id, _k._key_v_author ORDER BY _k._at NULLS LAST) AS _rank
    FROM p1_1_found AS _k
  ) AS _r
  WHERE
    _rank = 1
),
p1_1_tried_before_1 AS (
  SELECT
    _b._key_a__row_id,
    _b._key_v_author,
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
      AND _e._key_v_author IS NOT DISTINCT FROM _f._key_v_author
  )

