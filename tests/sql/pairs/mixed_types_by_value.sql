-- title: a date beside a timestamp is compared as one where values count once
select z.c from (select to_date(ts) as c from messages union select due from messages) z where current_date() >= z.c
-- becomes
-- …
p1_1_tried_1 AS (
  SELECT
    z.c AS _key_z_1,
    STRUCT(z.c AS c) AS z,
    CAST(DATE_ADD(CAST(z.c - INTERVAL '1' MICROSECOND AS DATE), CAST(1 AS INT)) AS TIMESTAMP) AS _at
  FROM (
    SELECT DISTINCT
      CAST(TO_DATE(messages.ts) AS TIMESTAMP) AS c
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    UNION
    SELECT DISTINCT
      messages_2.due AS c
    FROM read_messages AS messages_2
    WHERE
      messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS z
  WHERE
    CAST(DATE_ADD(CAST(z.c - INTERVAL '1' MICROSECOND AS DATE), CAST(1 AS INT)) AS TIMESTAMP) > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND CAST(DATE_ADD(CAST(z.c - INTERVAL '1' MICROSECOND AS DATE), CAST(1 AS INT)) AS TIMESTAMP) <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  UNION ALL
  SELECT
    z.c AS _key_z_1,
    STRUCT(z.c AS c) AS z,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      CAST(TO_DATE(messages.ts) AS TIMESTAMP) AS c
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
    UNION
    SELECT DISTINCT
      messages_2.due AS c
    FROM read_messages AS messages_2
    WHERE
      messages_2._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS z
  WHERE
    CAST(DATE_ADD(CAST(z.c - INTERVAL '1' MICROSECOND AS DATE), CAST(1 AS INT)) AS TIMESTAMP) <= messages._arrival
    AND CAST(TO_DATE(messages.ts) AS TIMESTAMP) IS NOT DISTINCT FROM z.c
    AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
    AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
),
-- …
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
        CAST(TO_DATE(messages.ts) AS TIMESTAMP) IS NOT DISTINCT FROM _k.z.c
        AND messages._arrival <= _k._at
    )
  UNION ALL
  SELECT
    _k.*
  FROM p1_1_tried_2 AS _k
  WHERE
    EXISTS(
      SELECT
        1
      FROM read_messages AS messages_2
      WHERE
        messages_2.due IS NOT DISTINCT FROM _k.z.c AND messages_2._arrival <= _k._at
    )
),
-- …

-- title: three sides in two types
select z.c || '' as c from (select parent as c from messages except (select level from authors union select cast(level as decimal(10, 2)) from authors)) z
-- becomes
-- …
p1_1_tried_1 AS (
  SELECT
    z.c AS _key_z_1,
    STRUCT(z.c AS c) AS z,
    messages._arrival AS _at
  FROM read_messages AS messages
  CROSS JOIN (
    SELECT DISTINCT
      CAST(messages.parent AS DECIMAL(12, 2)) AS c
    FROM read_messages AS messages
    WHERE
      messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  ) AS z
  WHERE
    CAST(messages.parent AS DECIMAL(12, 2)) IS NOT DISTINCT FROM z.c
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
        CAST(messages.parent AS DECIMAL(12, 2)) IS NOT DISTINCT FROM _k.z.c
        AND messages._arrival <= _k._at
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_authors AS authors
      WHERE
        CAST(authors.level AS DECIMAL(12, 2)) IS NOT DISTINCT FROM _k.z.c
    )
    AND NOT EXISTS(
      SELECT
        1
      FROM read_authors AS authors_2
      WHERE
        CAST(CAST(authors_2.level AS DECIMAL(10, 2)) AS DECIMAL(12, 2)) IS NOT DISTINCT FROM _k.z.c
    )
),
-- …

