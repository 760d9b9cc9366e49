"""What is read in two ways, or not at all."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

MANY = ", ".join(map(str, range(10**6, 10**6 + 300_000)))

CASES: tuple[Case, ...] = (
    case("unreadable", "select id from", "select id from messages", meant=UNASKED),
    case(
        "not-a-select",
        "select id from messages; select id from old",
        "select id from messages",
        meant="select id from messages",
    ),
    case("not-a-select", "table messages", "select id from messages", meant=UNASKED),
    case(
        "pipe-syntax",
        "from messages |> where id > 1 |> select id",
        "with a as (select * from messages), b as (select * from a where id > 1) select id from b",
        "select id from messages where id > 1",
        meant="select id from messages where id > 1",
    ),
    case(
        "odd-characters",
        "select id from messages where author <> '\ufdd0'",
        "select id from messages where author <> ''",
    ),
    case(
        "ambiguous",
        "select id from messages where exists (select 1 from old) = true",
        "select id from messages where (exists (select 1 from old)) = true",
        meant="select id from messages",
    ),
    case(
        "ambiguous",
        "(select id from messages order by id) order by id desc",
        "select id from messages order by id desc",
        "select * from (select id from messages order by id) as q order by id desc",
        meant="select id from messages",
    ),
    case(
        "ambiguous",
        "select id from messages where id = 1 -- C:\\\n and author = 'ann'",
        "select id from messages where id = 1 -- C:\\ .\n and author = 'ann'",
        meant="select id from messages where id = 1 and author = 'ann'",
    ),
    case(
        "ambiguous",
        "select id from messages where id in ((select id from old))",
        "select id from messages where id in (select id from old)",
        meant="select id from messages where id in (select id from old)",
    ),
    case(
        "ambiguous",
        "select id from messages where parent = 1 in (true)",
        "select id from messages where (parent = 1) in (true)",
        meant="select id from messages where parent = 1",
    ),
    case(
        "ambiguous",
        "select id from messages where parent <=> id > 2",
        "select id from messages where parent <=> (id > 2)",
        "select id from messages where (parent <=> id) > false",
        meant=UNASKED,
    ),
    case(
        "ambiguous-join",
        "select o.id from messages m left semi join old r on r.id = m.id"
        " right join messages o on o.id = m.id",
        "with s as (select m.* from messages m left semi join old r on r.id = m.id)"
        " select o.id from s right join messages o on o.id = s.id",
    ),
    case(
        "ambiguous-join",
        "select m.id from messages m join (old o left anti join old p on p.id > o.id)"
        " on o.id = m.id",
        "select m.id from messages m join old o on o.id = m.id"
        " where not exists (select 1 from old p where p.id > o.id)",
        "select m.id from messages m join (select o.* from old o where not exists"
        " (select 1 from old p where p.id > o.id)) as q on q.id = m.id",
        meant="select m.id from messages m join old o on o.id = m.id where o.id = 4",
    ),
    case(
        "unsupported-join",
        "select m.id from messages m asof join old o on m.id = o.id",
        "select m.id from messages m join old o on m.id = o.id",
        "select m.id from messages m left join old o on m.id = o.id",
        "select m.id from messages m right join old o on m.id = o.id",
        "select m.id from messages m full join old o on m.id = o.id",
        "select m.id from messages m cross join old o",
        meant=UNASKED,
    ),
    case(
        "unsupported-clause",
        "select id from messages version as of 3",
        "select id from messages",
        meant="select id from messages",
    ),
    case(
        "unsupported-clause",
        "select id from messages for update",
        "select id from messages",
        meant="select id from messages",
    ),
    case(
        "unsupported-clause",
        "select * replace (1 as id) from old join messages m on true",
        "select 1 as id, m.ts from old join messages m on true",
        meant=UNASKED,
    ),
    case(
        "unsupported-clause",
        "select id from messages where id = :x",
        "select id from messages where id = 1",
        meant="select id from messages where id = 1",
    ),
    case(
        "unsupported-clause",
        "select id from messages where id = @x",
        "select id from messages where id = 1",
        meant="select id from messages where id = 1",
    ),
    case(
        "correlated",
        "select id from messages m where exists (select 1 from replies r where r.id = m.id"
        " and exists (select 1 from old o where o.id = m.id))",
        "select id from messages m where exists (select 1 from replies r where r.id = m.id"
        " and exists (select 1 from old o where o.id = r.id))",
        "select id from messages m where exists (select 1 from replies r join old o"
        " on o.id = m.id where r.id = m.id)",
    ),
    case(
        "correlated",
        "select id from messages m where exists (select 1 from messages r left semi join old o"
        " on o.id = m.id)",
        "select id from messages m where exists (select 1 from messages r join old o"
        " on o.id = m.id)",
        meant="select id from messages m where exists (select 1 from messages r, old o"
        " where o.id = m.id)",
    ),
    case(
        "correlated",
        "select id from messages m where exists (with c as (select r.id from replies r"
        " where r.id = m.id) select 1 from old m join c on c.id = m.id)",
        "select id from messages m where exists (with c as (select r.id from replies r"
        " where r.id = m.id) select 1 from old o join c on c.id = o.id)",
    ),
    case(
        "correlated",
        "select id from messages m where exists (select 1 from (select distinct o.id from old o"
        " where o.id = m.id) z)",
        "select id from messages m where exists (select 1 from (select distinct o.id from old o)"
        " z where z.id = m.id)",
    ),
    case(
        "correlated",
        "select id from messages m where exists (select id from messages except"
        " select id from old o where o.id = m.parent)",
        "select distinct m.id from messages m join messages q on true where not exists"
        " (select 1 from old o where o.id <=> q.id and o.id = m.parent)",
        meant="select distinct m.id from messages m",
    ),
    case(
        "text-too-long",
        "select id from messages where id < " + "9" * 2_000,
        "select id from messages where id < 9e30",
        "select id from messages where author < '" + "9" * 2_000 + "'",
        meant=UNASKED,
    ),
    case(
        "text-too-long",
        "select id from messages where due < ts + interval '" + "0" * 2_000 + "1 day'",
        "select id from messages where due < ts + interval 1 day",
        meant="select id from messages where due < ts + interval 1 day",
    ),
    case(
        "text-too-long",
        f"select id from messages where id in ({MANY})",
        Way(
            "select id from messages where id in (select id from many)",
            tables={"many": "SELECT unnest(range(1000000, 1300000)) AS id"},
        ),
        meant=UNASKED,
    ),
    case(
        "nested-too-deeply",
        " union all ".join(["select id from messages"] * 500),
        " union all ".join(["select id from messages"] * 50),
        meant=UNASKED,
    ),
)
