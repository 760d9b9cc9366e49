"""What is computed elsewhere: aggregates and windows downstream, what makes rows upstream."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

EXPLODED = {"exploded": "SELECT m.id, unnest(m.list) AS x, m.ts FROM messages m"}
"""A table upstream, with the arrival of the rows that it is made from."""
FIRST = "not exists (select 1 from messages e where e.author = m.author and e.ts < m.ts)"
KEPT = "select id, parent, author, ts from messages"
TOP = {"top_old": "SELECT max(id) AS id FROM old"}
"""Of a static table, as a static table."""

CASES: tuple[Case, ...] = (
    case(
        "aggregate",
        "select author, count(*) as n from messages group by author",
        Way(KEPT, after="SELECT author, count(*) FROM model GROUP BY author"),
    ),
    case(
        "aggregate",
        "select author, min(ts) as ts from messages group by author",
        Way(KEPT, after="SELECT author, min(ts) FROM model GROUP BY author"),
    ),
    case(
        "aggregate",
        "select id, row_number() over (partition by author order by id, ts) as n from messages",
        Way(
            KEPT,
            after="SELECT id, row_number() OVER (PARTITION BY author ORDER BY id, ts) FROM model",
        ),
    ),
    case(
        "aggregate",
        "select m.id, c.n from messages m"
        " join (select parent, count(*) as n from messages group by parent) c on c.parent = m.id",
        Way(
            "select id, parent from messages",
            after="SELECT m.id, c.n FROM model m JOIN"
            " (SELECT parent, count(*) AS n FROM model GROUP BY parent) c ON c.parent = m.id",
        ),
    ),
    case(
        "aggregate",
        "select id from messages where id in (select max(id) from old)",
        Way(
            "select id from messages m where exists (select 1 from old o where o.id = m.id)"
            " and not exists (select 1 from old o where o.id > m.id)"
        ),
        Way(
            "select id from messages",
            after="SELECT id FROM model WHERE id IN (SELECT max(id) FROM old)",
        ),
    ),
    case(
        "aggregate",
        "select author from messages m group by author"
        " having exists (select 1 from old o where o.id = max(m.id))",
        Way(
            "select author, id from messages",
            after="SELECT author FROM model m GROUP BY author"
            " HAVING max(m.id) IN (SELECT o.id FROM old o)",
        ),
    ),
    case(
        "aggregate",
        "select id from messages where row_number() over (order by ts) = 1",
        Way(
            "select id, ts from messages",
            after="SELECT id FROM (SELECT id, row_number() OVER (ORDER BY ts) AS n FROM model)"
            " WHERE n = 1",
        ),
        meant=UNASKED,
    ),
    case(
        "aggregate",
        "select id, (select max(id) from old) as top from messages",
        Way("select m.id, t.id as top from messages m join top_old t", tables=TOP),
    ),
    case(
        "aggregate",
        "select id, exists (select 1 from old o where o.id = m.id) as is_old from messages m",
        Way(
            "select id, true as is_old from messages m"
            " where exists (select 1 from old o where o.id = m.id)"
            " union all select id, false as is_old from messages m"
            " where not exists (select 1 from old o where o.id = m.id)"
        ),
    ),
    case(
        "grouping-sets",
        "select author from messages group by rollup (author)",
        Way(KEPT, after="SELECT author FROM model GROUP BY ROLLUP (author)"),
    ),
    case(
        "unsupported-clause",
        "select id from messages qualify row_number() over (partition by author order by ts) = 1",
        Way(
            KEPT,
            after="SELECT id FROM model"
            " QUALIFY row_number() OVER (PARTITION BY author ORDER BY ts) = 1",
        ),
    ),
    case(
        "limit",
        "select id from messages order by id limit 2",
        Way("select id from messages", after="SELECT id FROM model ORDER BY id LIMIT 2"),
        Way("select id from messages where id <= 2"),
    ),
    case(
        "limit",
        "select id from messages where id in (select id from old order by id desc limit 1)",
        "select id from messages m where exists (select 1 from old o where o.id = m.id and"
        " not exists (select 1 from old p where p.id > o.id))",
        Way(
            "select id from messages",
            after="SELECT id FROM model WHERE id IN"
            " (SELECT id FROM old ORDER BY id DESC NULLS LAST LIMIT 1)",
        ),
    ),
    case(
        "generator",
        "select m.id, t.x, o.since from messages m, lateral explode(m.list) as t(x)"
        " left join old o on o.id = t.x",
        "select q.id, q.x, o.since from (select m.*, t.x from messages m"
        " lateral view explode(m.list) t as x) as q left join old o on o.id = q.x",
        meant="select q.id, q.x, o.since from (select id, unnest(list) as x from messages) q"
        " left join old o on o.id = q.x",
    ),
    case(
        "generator",
        "select * from messages m, lateral explode(m.list)",
        "select * from messages m, lateral explode(m.list) as t",
        "select m.id, t.x from messages m, lateral explode(m.list) as t(x)",
        meant=UNASKED,
    ),
    case(
        "generator",
        "select explode(list) as x, explode(times) as y from messages",
        "select x, y from messages lateral view explode(list) t as x"
        " lateral view explode(times) u as y",
        meant="select x, unnest(times) as y from (select unnest(list) as x, times from messages)",
    ),
    case(
        "generator",
        "select * from explode(split('a b', ' '))",
        "select m.id, t.x from messages m lateral view explode(split('a b', ' ')) t as x",
        meant=UNASKED,
    ),
    case(
        "generator",
        "select id, x from messages"
        " lateral view inline(from_json(author, 'array<struct<x: int>>')) t as x",
        "select id, x from messages lateral view"
        " inline(cast(from_json(author, 'array<struct<x: int>>') as array<struct<x: int>>)) t as x",
        meant=UNASKED,
    ),
    case(
        "generator",
        "select id, x from messages lateral view explode(array(now(), ts)) t as x",
        Way("select id, x from exploded", tables=EXPLODED),
        "select id from messages where now() > ts + interval 1 day",
        meant=UNASKED,
    ),
    case(
        "generator",
        "select m.id, x from messages m join old o on o.id = m.id"
        " lateral view explode(array(m.id, year(o.since))) t as x",
        Way("select id, x from exploded", tables=EXPLODED),
        meant=UNASKED,
    ),
    case(
        "generator",
        "select q.id, x from (select distinct id, list from messages) q"
        " lateral view explode(q.list) t as x",
        "select distinct id, x from messages lateral view explode(list) t as x",
        "select q.id, q.x from (select distinct id, x from messages"
        " lateral view explode(list) t as x) q",
        meant="select distinct id, unnest(list) as x from messages",
    ),
    case(
        "generator",
        "select id, json_tuple(author, 'a') as x from messages",
        Way("select id, x from exploded", tables=EXPLODED),
        meant=UNASKED,
    ),
    case(
        "unsupported-clause",
        "select id, x from messages lateral view json_tuple(author, 'a') t as x",
        Way("select id, x from exploded", tables=EXPLODED),
        meant=UNASKED,
    ),
    case(
        "inline-table",
        "select m.id from messages m join values (1), (2, 3) as v(n) on v.n = m.id",
        "select m.id from messages m join values (1, NULL), (2, 3) as v(n, k) on v.n = m.id",
        Way(
            "select m.id from messages m join small v on v.n = m.id",
            tables={"small": "SELECT unnest([1, 2]) AS n"},
        ),
        meant="select id from messages where id in (1, 2)",
    ),
    case(
        "uneven-columns",
        "select m.id from messages m join (values (1, 2)) q(id) on q.id = m.id",
        "select m.id from messages m join (values (1, 2)) q(id, k) on q.id = m.id",
        "select m.id from messages m join (values (1, 2)) q on q.col1 = m.id",
        meant="select id from messages where id = 1",
    ),
    case(
        "generator",
        "select id, window(ts, '1 hour') as w from messages",
        "select id, struct(date_trunc('hour', ts) as start,"
        " date_trunc('hour', ts) + interval 1 hour as end) as w from messages",
        Way(
            "select id, w from windows",
            tables={
                "windows": "SELECT id, {'start': date_trunc('hour', ts),"
                " 'end': date_trunc('hour', ts) + INTERVAL 1 HOUR} AS w, ts FROM messages"
            },
        ),
        meant="select id, struct(date_trunc('hour', ts) as start,"
        " date_trunc('hour', ts) + interval 1 hour as end) as w from messages",
    ),
    case(
        "function-in-from",
        "select m.id, r.id as n from messages m join range(3) r on r.id = m.id",
        Way(
            "select m.id, r.n from messages m join numbers r on r.n = m.id",
            tables={"numbers": "SELECT unnest(range(3)) AS n"},
        ),
        meant="select m.id, r.n from messages m join (select unnest(range(3)) as n) r"
        " on r.n = m.id",
    ),
    case(
        "unsupported-clause",
        "select m.id, o.since from messages m,"
        " lateral (select since from old where old.id = m.id) o",
        "select m.id, o.since from messages m join old o on o.id = m.id",
    ),
    case(
        "unsupported-clause",
        "select * from (select id, author from messages) pivot (count(id) for author in ('ann'))",
        Way(
            "select id, author from messages",
            after="SELECT count(CASE WHEN author = 'ann' THEN id END) AS ann FROM model",
        ),
        meant="select count(case when author = 'ann' then id end) as ann from messages",
    ),
    case(
        "unsupported-clause",
        "select id from messages tablesample (50 percent)",
        "select id from messages where pmod(hash(id), 100) < 50",
        meant=UNASKED,  # chance
    ),
    case(
        "unsupported-clause",
        "select distinct on (author) id from messages order by ts",
        f"select distinct id from messages m where {FIRST}",
        "select distinct id from messages",
        meant=UNASKED,  # which of two rows with one ts is chance
    ),
    case(
        "having",
        "select id from messages having id > 1",
        "select id from messages where id > 1",
        meant="select id from messages where id > 1",
    ),
    case(
        "scalar-subquery",
        "select id from messages where id > (select max(id) from old)",
        "select id from messages m where not exists (select 1 from old o where o.id >= m.id)",
        Way("select m.id from messages m join top_old t on m.id > t.id", tables=TOP),
    ),
    case(
        "scalar-subquery",
        "select m.id from messages m where m.id = (select o.id from old o where o.id = 1)",
        "select m.id from messages m where m.id in (select o.id from old o where o.id = 1)",
        "select m.id from messages m join old o on o.id = m.id where o.id = 1",
    ),
    case(
        "quantified-subquery",
        "select id from messages where id > all (select id from replies)",
        "select id from messages m where not exists (select 1 from replies r where"
        " not m.id > r.id or m.id > r.id is null)",
    ),
    case(
        "quantified-subquery",
        "select id from messages where id = any (select id from replies)",
        "select id from messages m where exists (select 1 from replies r where m.id = r.id)",
    ),
    case(
        "except-all",
        "select id from messages except all select id from old",
        "select id from messages except select id from old",
        meant="select id from messages except select id from old",
    ),
    case(
        "except-all",
        "select id from messages intersect all select id from old",
        "select id from messages intersect select id from old",
        meant="select id from messages intersect select id from old",
    ),
    case(
        "recursive-cte",
        "with recursive up as (select id, parent from messages union all"
        " select u.id, m.parent from up u join messages m on m.id = u.parent)"
        " select id, parent from up",
        "select id, parent from messages union all select a.id, b.parent from messages a"
        " join messages b on b.id = a.parent union all select a.id, c.parent from messages a"
        " join messages b on b.id = a.parent join messages c on c.id = b.parent"
        " union all select a.id, d.parent from messages a join messages b on b.id = a.parent"
        " join messages c on c.id = b.parent join messages d on d.id = c.parent",
    ),
    case(
        "unread",
        "select id, levenshtein(author, 'bob', 2) as l from messages",
        Way(
            "select id, l from distances",
            tables={"distances": "SELECT id, levenshtein(author, 'bob') AS l, ts FROM messages"},
        ),
        meant="select id, levenshtein(author, 'bob') as l from messages",
    ),
)
