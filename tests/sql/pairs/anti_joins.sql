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

-- title: many alternatives with anti joins
select m.id from messages m
where (now() >= m.due or not exists (select 1 from messages r where r.parent = m.id))
  and (m.parent is null or not exists (select 1 from messages r where r.author = m.author and r.id < m.id))
  and (m.id < 4 or now() >= m.ts + interval 1 day)
-- becomes
WITH read_messages AS (
  SELECT rowid AS _row_id, ts AS _arrival, due, id, parent, ts, author FROM db.messages
),
p1_1_tried_1 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m._arrival, m.due) AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.id < 4
    AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m._arrival, m.due) AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.id < 4
    AND m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_2 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m.due, m.ts + INTERVAL '1' DAY) AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
  UNION ALL
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m.due, m.ts + INTERVAL '1' DAY) AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_3 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m._arrival, m.due) AS _at
  FROM read_messages AS m
  WHERE
    m.id < 4
    AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m._arrival, m.due) AS _at
  FROM read_messages AS m
  WHERE
    m.id < 4
    AND m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_4 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m.due, m.ts + INTERVAL '1' DAY) AS _at
  FROM read_messages AS m
  WHERE
    m.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
  UNION ALL
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    GREATEST(m.due, m.ts + INTERVAL '1' DAY) AS _at
  FROM read_messages AS m
  WHERE
    m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_5 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    m._arrival AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.id < 4
    AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_6 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    m.ts + INTERVAL '1' DAY AS _at
  FROM read_messages AS m
  WHERE
    m.parent IS NULL
    AND m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
),
p1_1_tried_7 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    m._arrival AS _at
  FROM read_messages AS m
  WHERE
    m.id < 4
    AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_8 AS (
  SELECT
    m._row_id AS _key_m__row_id,
    STRUCT(
      m.id AS id,
      m.parent AS parent,
      m._arrival AS _arrival,
      m.due AS due,
      m.ts AS ts,
      m.author AS author
    ) AS m,
    m.ts + INTERVAL '1' DAY AS _at
  FROM read_messages AS m
  WHERE
    m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
    AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
),
p1_1_found AS (
  SELECT
    _k.*
  FROM p1_1_tried_1 AS _k
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_2 AS _k
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_3 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_4 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_5 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_6 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_7 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_8 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
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
    GREATEST(_b.m._arrival, _b.m.due) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.parent IS NULL
    AND _b.m.id < 4
    AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_2 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    GREATEST(_b.m._arrival, _b.m.due, _b.m.ts + INTERVAL '1' DAY) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.parent IS NULL
    AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.ts + INTERVAL '1' DAY <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_3 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    GREATEST(_b.m._arrival, _b.m.due) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.id < 4
    AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_4 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    GREATEST(_b.m._arrival, _b.m.due, _b.m.ts + INTERVAL '1' DAY) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.due <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.ts + INTERVAL '1' DAY <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_5 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    _b.m._arrival AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.parent IS NULL
    AND _b.m.id < 4
    AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_6 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    GREATEST(_b.m._arrival, _b.m.ts + INTERVAL '1' DAY) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.parent IS NULL
    AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.ts + INTERVAL '1' DAY <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_7 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    _b.m._arrival AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m.id < 4 AND _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_tried_before_8 AS (
  SELECT
    _b._key_m__row_id,
    _b.m,
    GREATEST(_b.m._arrival, _b.m.ts + INTERVAL '1' DAY) AS _at
  FROM p1_1_first AS _b
  WHERE
    _b.m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND _b.m.ts + INTERVAL '1' DAY <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
),
p1_1_earlier AS (
  SELECT
    _k.*
  FROM p1_1_tried_before_1 AS _k
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_2 AS _k
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_3 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_4 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_5 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_6 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_7 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_before_8 AS _k
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r
      WHERE
        r.parent = _k.m.id AND r._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_messages AS r_2
      WHERE
        r_2.author = _k.m.author AND r_2.id < _k.m.id AND r_2._arrival <= _k._at
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
      _e._key_m__row_id IS NOT DISTINCT FROM _f._key_m__row_id
  )

