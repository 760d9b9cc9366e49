-- title: INTERSECT is EXISTS in both
select author from messages intersect select author from authors
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
-- …

