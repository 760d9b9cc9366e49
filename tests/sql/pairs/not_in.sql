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

