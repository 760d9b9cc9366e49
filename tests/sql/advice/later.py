"""Aggregates, windows and subqueries that have no one value; what makes rows, upstream."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

EXPLODED = {"exploded": "SELECT m.id, unnest(m.list) AS x, m.ts FROM messages m"}
"""A table upstream, with the arrival of the rows that it is made from."""
FIRST = "not exists (select 1 from messages e where e.author = m.author and e.ts < m.ts)"

CASES: tuple[Case, ...] = (
    case(
        "misplaced-aggregate",
        "select author from messages m group by author"
        " having exists (select 1 from old o where o.id = max(m.id))",
        "select q.author from (select author, max(id) as top from messages group by author) q"
        " where exists (select 1 from old o where o.id = q.top)",
        meant=UNASKED,
    ),
    case(
        "misplaced-aggregate",
        "select id from messages where row_number() over (order by ts) = 1",
        "select q.id from (select id, row_number() over (order by ts) as n from messages) q"
        " where q.n = 1",
        "select id from messages qualify row_number() over (order by ts) = 1",
        "select author from messages group by author having count(*) > 1",
        meant=UNASKED,
    ),
    case(
        "misplaced-aggregate",
        "select author from messages group by author having rank() over (order by author) = 1",
        "select author from messages group by author qualify rank() over (order by author) = 1",
        "select q.author from (select author, rank() over (order by author) as n from messages"
        " group by author) q where q.n = 1",
        meant=UNASKED,
    ),
    case(
        "nested-aggregate",
        "select max(count(*)) as n from messages group by author",
        "select max(q.s) as n from (select author, count(*) as s from messages group by author) q",
        meant=UNASKED,
    ),
    case(
        "nested-window",
        "select id, sum(rank() over (order by ts)) over () as n from messages",
        "select q.id, sum(q.s) over () as n from (select id, rank() over (order by ts) as s"
        " from messages) q",
        meant=UNASKED,
    ),
    case(
        "ungrouped-column",
        "select author, id, count(*) as n from messages group by author",
        "select author, id, count(*) as n from messages group by author, id",
        "select author, max(id) as id, count(*) as n from messages group by author",
        meant=UNASKED,
    ),
    case(
        "no-order",
        "select id, rank() over (partition by author) as n from messages",
        "select id, rank() over (partition by author order by ts) as n from messages",
        meant=UNASKED,
    ),
    case(
        "no-order",
        "select id, rank() as n from messages",
        "select id, rank() over (partition by author order by ts) as n from messages",
        meant=UNASKED,
    ),
    case(
        "no-order",
        "select author, collect_set(id) as ids from messages group by author",
        "select author, sort_array(collect_set(id)) as ids from messages group by author",
        meant=UNASKED,
    ),
    case(
        "distinct-window",
        "select id, count(distinct author) over () as n from messages",
        "select id, size(collect_set(author) over ()) as n from messages",
        meant=UNASKED,
    ),
    case(
        "filter-window",
        "select id, sum(id) filter (where id > 1) over () as n from messages",
        "select id, sum(case when id > 1 then id end) over () as n from messages",
        meant=UNASKED,
    ),
    case(
        "odd-frame",
        "select id, sum(id) over (order by ts groups 1 preceding) as n from messages",
        "select id, sum(id) over (order by ts rows between 1 preceding and current row) as n"
        " from messages",
        meant=UNASKED,
    ),
    case(
        "inexact-sum",
        "select author, sum(id / 2) as s from messages group by author",
        "select author, sum(cast(id / 2 as decimal(38,6))) as s from messages group by author",
        meant=UNASKED,
    ),
    case(
        "inexact-sum",
        "select author, stddev(id) as s from messages group by author",
        "select author, count(*) as n, sum(cast(id as decimal(38,6))) as s,"
        " sum(cast(id * id as decimal(38,6))) as q from messages group by author",
        meant=UNASKED,
    ),
    case(
        "correlated",
        "select id, (select max(o.id) from old o where o.id = m.id) as x, count(*) as n"
        " from messages m group by id",
        "select q.id, (select max(o.id) from old o where o.id = q.id) as x, q.n from"
        " (select id, count(*) as n from messages group by id) q",
        meant=UNASKED,
    ),
    case(
        "correlated",
        "select id, (select o.id from old o where o.id = m.id limit 1 offset 1)"
        " as x from messages m",
        "select id, (select max(o.id) from old o where o.id = m.id) as x from messages m",
        "select m.id, q.id as x from messages m left join (select id, row_number() over"
        " (partition by id order by since) as n from old) q on q.id = m.id and q.n = 1",
        meant=UNASKED,
    ),
    case(
        "correlated",
        "select id, (select max(q.id) from (select o.id from old o where o.id = m.id) q) as x"
        " from messages m",
        "select id, (select max(q.id) from (select o.id from old o) q where q.id = m.id) as x"
        " from messages m",
        meant=UNASKED,
    ),
    case(
        "correlated",
        "select id from messages m where id > (select count(*) from old) and exists"
        " (select o.id from old o where o.id = m.id union select o.id from old o"
        " where o.id > m.id)",
        "select q.id from (select m.id, row_number() over (partition by m.id order by o.id) as n"
        " from messages m join old o on o.id >= m.id) q where q.n = 1",
        meant=UNASKED,
    ),
    case(
        "scalar-subquery",
        "select id, (select max(o.id), 1 from old o) as x from messages",
        "select id, (select max(o.id) from old o) as x from messages",
        "select id, (select max(struct(o.id, o.since)) from old o) as x from messages",
        meant=UNASKED,
    ),
    case(
        "scalar-subquery",
        "select m.id from messages m left join old o on o.id > (select max(id) from old)",
        "select m.id from messages m cross join (select max(id) as x from old) q"
        " left join old o on o.id > q.x",
        meant=UNASKED,
    ),
    case(
        "arms-alike",
        "select id, count(*) as n from messages group by id"
        " union all select id, count(*) as n from old group by id",
        "select 'daily' as kind, id, count(*) as n from messages group by id"
        " union all select 'old', id, count(*) as n from old group by id",
        meant=UNASKED,
    ),
    case(
        "untyped-column",
        "select 'a' as kind, count(*) as n from messages"
        " union all select 'b', length(author) as n from messages",
        "select 'a' as kind, cast(count(*) as bigint) as n from messages"
        " union all select 'b', cast(length(author) as bigint) as n from messages",
        meant=UNASKED,
    ),
    case(
        "limit",
        "select id from messages order by id limit 1 + 1",
        "select id from messages order by id limit 2",
        meant=UNASKED,
    ),
    case(
        "ambiguous",
        "select q.id from ((select id from messages) limit 3) q",
        "select q.id from (select * from (select id from messages) as p limit 3) q",
        "select q.id from (select id from messages limit 3) q",
        meant=UNASKED,
    ),
    case(
        "generator",
        "select id, x, (select count(*) from old) as n from messages"
        " lateral view explode(list) t as x",
        Way("select id, x, (select count(*) from old) as n from exploded", tables=EXPLODED),
        meant=UNASKED,
    ),
    case(
        "generator",
        "select count(*) as n from messages lateral view explode(times) t as x"
        " where x > now() - interval 1 day",
        Way(
            "select count(*) as n from made where x > now() - interval 1 day",
            tables={"made": "SELECT m.id, unnest(m.times) AS x, m.ts FROM messages m"},
        ),
        meant=UNASKED,
    ),
    case(
        "moving-bound",
        "select author from messages group by author"
        " having timestamp'2026-01-01' + make_interval(0, 0, 0, cast(sum(id) as int)) < now()",
        "select author from messages group by author having max(ts) < now() and sum(id) > 3",
        meant=UNASKED,
    ),
    case(
        "unsupported-clause",
        "select percentile_disc(0.5) within group (order by id) as p from messages",
        "select percentile(id, 0.9) as p from messages",
        meant=UNASKED,
    ),
    case(
        "unsupported-clause",
        "select q.id from (select id from messages sort by id limit 2) q",
        "select q.id from (select id from messages order by id limit 2) q",
        meant=UNASKED,
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
        "scalar-subquery",
        "select m.id from messages m where m.id = (select o.id from old o where o.id = 1)",
        "select m.id from messages m where m.id = (select max(o.id) from old o where o.id = 1)",
        "select m.id from messages m join old o on o.id = m.id where o.id = 1",
        "select m.id from messages m where m.id ="
        " (select o.id from old o where o.id = 1 order by o.id limit 1)",
        meant="select m.id from messages m where m.id = 1",
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
