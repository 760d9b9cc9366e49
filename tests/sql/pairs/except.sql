-- title: EXCEPT is EXISTS and NOT EXISTS on values
select id from messages except select parent from messages
-- becomes
WITH read_messages AS (
  SELECT ts AS _arrival, id, parent FROM db.messages
),
p1_1_tried_1 AS (
  SELECT
    v.c1 AS _key_v_1,
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
-- …

