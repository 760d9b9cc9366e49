-- title: one table, no clock: the rows that arrived in the window
select id from messages where author = 'ann'
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author FROM db.messages
)
SELECT
  messages.id AS id,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages.author = 'ann'
  AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: an expiring row is an answer if it ever was (paper, section 4.2)
select id from messages where due > now()
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, due FROM db.messages
)
SELECT
  messages.id AS id,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival < messages.due

-- title: a range of ages (paper, section 4.2)
select id from messages m where m.ts + interval 12 hours < now() and now() < m.ts + interval 36 hours
-- becomes
WITH read_messages AS (
  SELECT id, ts, ts AS _arrival FROM db.messages
)
SELECT
  m.id AS id,
  (
    m.ts + INTERVAL '12' HOURS
  ) + INTERVAL '1' MICROSECOND AS _matched_at
FROM read_messages AS m
WHERE
  m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '12' HOUR - INTERVAL '1' MICROSECOND
  AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '12' HOUR - INTERVAL '1' MICROSECOND
  AND m._arrival < m.ts + INTERVAL '36' HOURS
  AND (
    m.ts + INTERVAL '12' HOURS
  ) + INTERVAL '1' MICROSECOND < m.ts + INTERVAL '36' HOURS

-- title: a reminder falls due (paper, section 8)
select id from messages where due = now()
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, due FROM db.messages
)
SELECT
  messages.id AS id,
  GREATEST(messages._arrival, messages.due) AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival < messages.due + INTERVAL '1' MICROSECOND
  AND messages.due < messages.due + INTERVAL '1' MICROSECOND
UNION ALL
SELECT
  messages.id AS id,
  GREATEST(messages._arrival, messages.due) AS _matched_at
FROM read_messages AS messages
WHERE
  messages.due > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival < messages.due + INTERVAL '1' MICROSECOND
  AND messages.due < messages.due + INTERVAL '1' MICROSECOND

-- title: a join is split by the bound that falls into the window (paper, section 5)
select m.id, r.id as reply from messages m, messages r where r.parent = m.id
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent FROM db.messages
)
SELECT
  m.id AS id,
  r.id AS reply,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS m
CROSS JOIN read_messages AS r
WHERE
  r.parent = m.id
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
SELECT
  m.id AS id,
  r.id AS reply,
  GREATEST(m._arrival, r._arrival) AS _matched_at
FROM read_messages AS r
CROSS JOIN read_messages AS m
WHERE
  r.parent = m.id
  AND r._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)

-- title: a known order of arrivals removes a branch (paper, section 6.2.2)
-- assume: r.ts >= m.ts
select m.id, r.id as reply from messages m, messages r where r.parent = m.id
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, parent FROM db.messages
)
SELECT
  m.id AS id,
  r.id AS reply,
  r._arrival AS _matched_at
FROM read_messages AS r
CROSS JOIN read_messages AS m
WHERE
  r.parent = m.id
  AND r._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND r._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT m._arrival IS NULL

-- title: two ways to match are one answer
select id from messages m where (author = 'ann' and due <= now()) or now() >= m.ts + interval 1 day
-- becomes
WITH read_messages AS (
  SELECT id, ts, ts AS _arrival, due, author FROM db.messages
)
SELECT
  m.id AS id,
  GREATEST(m._arrival, m.due) AS _matched_at
FROM read_messages AS m
WHERE
  m.author = 'ann'
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND m.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT COALESCE(
    (
      m._arrival < GREATEST(m._arrival, m.due)
    )
    AND (
      m.ts + INTERVAL '1' DAY < GREATEST(m._arrival, m.due)
    ),
    FALSE
  )
UNION ALL
-- …
UNION ALL
SELECT
  m.id AS id,
  m.ts + INTERVAL '1' DAY AS _matched_at
FROM read_messages AS m
WHERE
  m.ts > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
  AND m.ts <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '24' HOUR
  AND NOT COALESCE(
    (
      m.author = 'ann'
    )
    AND (
      m._arrival <= m.ts + INTERVAL '1' DAY
    )
    AND (
      m.due <= m.ts + INTERVAL '1' DAY
    ),
    FALSE
  )

-- title: a static table has no bound of its own
select m.id, a.level from messages m join authors a on a.author = m.author
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, author FROM db.messages
),
read_authors AS (
  SELECT level, author FROM db.authors
)
SELECT
  m.id AS id,
  a.level AS level,
  m._arrival AS _matched_at
FROM read_messages AS m
CROSS JOIN read_authors AS a
WHERE
  a.author = m.author
  AND m._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND m._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)

-- title: a static table alone waits for its own conditions, time having begun
select a.author, a.level from authors a where a.level < 3 union all select author, id + 100 from messages
-- becomes
WITH read_authors AS (
  SELECT author, level FROM db.authors
),
read_messages AS (
  SELECT author, ts AS _arrival, id FROM db.messages
),
time_begins AS (
  SELECT MIN(_arrival) AS at FROM (SELECT _arrival FROM read_messages) AS arrivals
)
SELECT
  a.author AS author,
  a.level AS level,
  (
    SELECT
      at
    FROM time_begins
  ) AS _matched_at
FROM read_authors AS a
WHERE
  a.level < 3
  AND (
    SELECT
      at
    FROM time_begins
  ) > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND (
    SELECT
      at
    FROM time_begins
  ) <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
UNION ALL
-- …

-- title: NOT and IS TRUE over a comparison with the clock
select id from messages where not (due > now()) or (due > now()) is null
-- becomes
WITH read_messages AS (
  SELECT id, ts AS _arrival, due FROM db.messages
)
SELECT
  messages.id AS id,
  GREATEST(messages._arrival, messages.due) AS _matched_at
FROM read_messages AS messages
WHERE
  messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND messages.due <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT COALESCE(
    (
      messages.due IS NULL
    )
    AND (
      messages._arrival < GREATEST(messages._arrival, messages.due)
    ),
    FALSE
  )
UNION ALL
-- …
UNION ALL
SELECT
  messages.id AS id,
  messages._arrival AS _matched_at
FROM read_messages AS messages
WHERE
  messages.due IS NULL
  AND messages._arrival > CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)
  AND messages._arrival <= CAST('2026-01-04 00:00:00+00:00' AS TIMESTAMP)
  AND NOT COALESCE(
    (
      messages._arrival <= messages._arrival
    )
    AND (
      messages.due <= messages._arrival
    ),
    FALSE
  )

