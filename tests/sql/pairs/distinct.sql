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
-- …
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
-- …

