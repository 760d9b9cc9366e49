"""Every refusal says the reason, the place and a way out, in at most five lines."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, View, rewrite

MESSAGES = Source(
    "db.messages",
    (
        Column("id", "int"),
        Column("parent", "int"),
        Column("due", "timestamp"),
        Column("d", "date"),
        Column("ts", "timestamp"),
    ),
    "ts",
)
OLD = Source("db.old", (Column("id", "int"), Column("at", "timestamp")), None)
UPSTREAM = Source(
    "db.upstream", (Column("id", "int"), Column("_matched_at", "timestamp")), "_matched_at"
)
CATALOG = Catalog(
    {
        "db.messages": MESSAGES,
        "db.old": OLD,
        "db.upstream": UPSTREAM,
        "db.circle": View("db.circle", "select * from circle", namespace="db"),
        "db.recent": View("db.recent", "select id, ts from messages", namespace="db"),
    }
)
BERLIN = Catalog({"db.messages": MESSAGES}, time_zone="Europe/Berlin")
MANY = " and ".join(
    f"((id = {n} and due > now()) or (id > {n} and due < now() - interval {n} hours))"
    for n in range(1, 21)
)
LEFT_JOINS = " ".join(f"left join db.old o{n} on o{n}.id = m.parent + {n}" for n in range(9))
FOUR, SIX = (LEFT_JOINS.partition(f"left join db.old o{n}")[0] for n in (4, 6))
TWICE = ", ".join(
    f"c{n} as (select a.id, b.parent from c{n - 1} a left join c{n - 1} b on a.id = b.parent)"
    for n in range(1, 6)
)
BOTH = " and ".join(
    f"(m.parent = {n} or now() > m.due + interval {n} hours or exists"
    f" (select 1 from db.old o where o.id = m.id + {n} and o.at + interval {n} days > now()))"
    for n in range(3)
)

REFUSED = {
    "select id from": "could not be read",
    "select 1; select 2": "one SELECT",
    "delete from db.messages": "one SELECT",
    "select id from db.unknown": "not known",
    "select nothing from db.messages": "the columns' names: there are",
    "select parrent from db.messages": "the columns' names: parent?",
    "select q.id from db.messages m": "is a relation in FROM called q, and does it have id?",
    "select ts from db.messages a, db.messages b": "or write alias.ts",
    "select now() as at from db.messages": "nothing says what an answer is",
    "select distinct id, datediff(now(), ts) as age from db.messages": "list messages.ts as a",
    "select id from db.messages where due in (select now() from db.old)": "in the condition that",
    "select id from db.messages where exists(array(ts, due), x -> x < now())": "over an array",
    "select id from range(3)": "a function stands in FROM",
    "select id from db.messages except select id, at from db.old": "EXCEPT of 1 columns and 2",
    "select id from db.messages where id in (select id from db.old union select id, at from db.old)"
    "": "UNION of 1 columns and 2",
    "select id from db.messages where rand() < 0.5": "same value twice",
    "select uuid() as u from db.messages": "same value twice",
    "select id from db.messages where my_score(id) > 1": "user-defined",
    "select id from db.messages where hour(now()) = 9": "not monotone",
    "select id from db.messages where now() - interval 1 month > ts": "fixed length",
    "select id from db.messages where coalesce(due, now()) > ts": "monotone",
    "select id from db.messages where current_date() - d > 1": "write datediff(now(), m.d) > 1",
    "select id from db.messages where now() - id > interval 1 day": "messages.id, which is sub",
    "select id from db.messages where now() - interval '1 day 2 months' > ts": "fixed length",
    "select id from db.messages where now() - ts > nvl2(id, interval 1 day, interval 2 days)": (
        "is not known to be fixed"
    ),
    "select id from db.messages where now() > id": "no point in time",
    "select parent, due, count(*) as n from db.messages group by parent": "neither grouped nor",
    "select parent, count(*) as n from db.messages": "neither grouped nor in an aggregate",
    "select parent, sum(id / 2) as s from db.messages group by parent": "in no fixed order",
    "select parent, collect_list(id) as ids from db.messages group by parent": "in which rows come",
    "select parent, last_value(id) over (order by ts) as v from db.messages": "in which rows come",
    "select parent, stddev(id) as s from db.messages group by parent": "computed in DOUBLE",
    "select id, rank() over () as n from db.messages": "ranks rows without an order",
    "select id, count(*) filter (where id > 1) over () as n from db.messages": "FILTER in a window",
    "select id, count(distinct parent) over () as n from db.messages": "DISTINCT in a window",
    "select id, sum(id) over (order by ts groups 1 preceding) as n from db.messages": "GROUPS",
    "select max(count(*)) as n from db.messages group by parent": "inside an aggregate",
    "select id, sum(rank() over (order by ts)) over () as n from db.messages": "inside another one",
    "select parent from db.messages group by parent having rank() over (order by parent) = 1": (
        "a window function stands in HAVING"
    ),
    "select id from db.messages order by ts limit 5 + 5": "LIMIT or OFFSET of what is no number",
    "select id from ((select id from db.messages) limit 3) q": "LIMIT stands behind",
    "select id, (select max(o.id) from db.old o where o.id = m.id limit 1 offset 1) as x"
    " from db.messages m": "OFFSET, or the LIMIT of a set operation",
    "select id, (select o.id from db.old o) as x from db.messages": "may give several rows",
    "select id, (select max(o.id), 1 from db.old o) as x from db.messages": "of 2 columns stands",
    "select parent, (select max(o.id) from db.old o where o.id = m.parent) + count(*) as x"
    " from db.messages m group by parent": "beside aggregates uses a column of the groups",
    "select id, (select max(q.id) from (select o.id from db.old o where o.id = m.id) q) as x"
    " from db.messages m": "a derived table uses a column",
    "select m.id from db.messages m left join db.old o on o.id > (select max(id) from db.old)": (
        "a subquery stands for a value in ON"
    ),
    "select id, x, (select count(*) from db.old) as n from db.messages"
    " lateral view explode(array(id, parent)) t as x": "a generator in a query whose rows",
    "select first_value(id) as x, parent from db.messages group by parent": (
        r"write any_value(messages.id), or by a time: min_by(messages.id, ts)"
    ),
    "select percentile_disc(0.5) within group (order by id) as p from db.messages": (
        "percentile_disc, or a percentile"
    ),
    "select * from db.old o, db.messages m pivot (sum(m.id) for parent in (1))": "PIVOT",
    "select id from db.messages union by name select id from db.old": "BY NAME",
    "select id from db.old": "static",
    "select * from db.upstream": "_matched_at",
    "select m.id, o.id from db.messages m, db.old o": "two columns",
    "select id from db.messages tablesample (10 percent)": "TABLESAMPLE",
    "select id from db.messages natural join (select * except (at) from db.old) o": "NATURAL",
    "select id from db.messages natural left semi join db.old": "NATURAL",
    "select m.id from db.messages m join db.messages n on n.id = m.parent"
    " left anti join db.old o using (id)": "USING",
    "select q.id from (db.messages m join db.old o on o.id = m.id) q": "parentheses has a name",
    "select m.id from db.messages m join (db.old o join db.old p using (id)) on true": "USING",
    "select m.id from db.messages m join (db.old o left anti join db.old p on p.id = o.id) "
    "on o.id = m.id": "ANTI JOIN on the right side of another join",
    "select * from (select id from db.old) join (db.old o join db.old p on o.id = p.id) on true": (
        "a star over a subquery without a name"
    ),
    "select id from db.messages where id = :x": "parameter",
    "select id from db.messages where id = any (select id from db.old)": "ANY",
    "select * from db.circle": "circle",
    "with recursive r as (select id from db.messages) select id from r": "recursive",
    "with recursive r as (select 1 as n union all select n from r) select n from r": "recursive",
    f"select id from db.messages where {MANY}": "64",
    "select id from db.messages m where exists (select 1 from db.old o where o.id = m.id and "
    "exists (select 1 from db.old p where p.id = m.parent))": "two levels up",
    f"select m.id from db.messages m {LEFT_JOINS}".replace(
        "left join db.old", "full join db.messages"
    ): "FULL JOIN o0, FULL JOIN o1",
    f"with c0 as (select id, parent from db.messages), {TWICE} select id from c5": "1806 ways",
    f"select m.id from db.messages m {FOUR} where {BOTH}": "million characters",
    f"select m.id from db.messages m {SIX} where {BOTH}": "1024 alternatives",
    " union all ".join(["select id from db.messages"] * 500): "nested too deeply",
    "select id, null as nothing from db.messages": "the column nothing has no type",
    "select null as n from db.messages union all select null from db.messages": "n has no type",
    "select id from db.messages where 1 = 0 and now() > ts and false": "never have an answer",
    "select id from db.messages version as of 3": "VERSION of a table",
    "select id from db.messages timestamp as of '2026-01-01'": "VERSION of a table",
    "select distinct on (parent) id from db.messages": "ON of a distinct",
    "select * replace (1 as id) from db.messages": "REPLACE of a star",
    "select id from db.messages for update": "LOCKS of a select",
    "select as struct id from db.messages": "KIND of a select",
    "with c as materialized (select id from db.messages) select id from c": "MATERIALIZED",
    "select m.id from db.messages m asof join db.old o on m.id = o.id": "ASOF JOIN",
    "select m.id from db.messages m right semi join db.old o on m.id = o.id": "RIGHT SEMI JOIN",
    "select id from db.messages having id > 1": "neither grouped nor in an aggregate",
    "select m.id from db.messages m where exists (select 1 from db.old o left semi join db.old p "
    "on p.id = m.parent)": "a semi or anti join inside a subquery is a level",
    "select id from db.messages where exists (select 1 from db.old) = true": "EXISTS stands in a",
    "select id from db.messages where id = parent in (1)": "in two ways",
    "select id from db.messages where id = parent < 3": "in two ways",
    "select id from db.messages where id = parent not between 1 and 3": "in two ways",
    "select id from db.messages where id in (1) = true": "in two ways",
    "select id from db.messages where case when now() < due then id else 'a' end = '01'": (
        "several types"
    ),
    "select id from db.messages where current_date() in (d, '2024-01-01 10:00:00')": (
        "several types"
    ),
    "select id from db.messages where id = 1 -- C:\\\n and parent = 2": "ends with a backslash",
    "select q.id from (select id, date'1999-01-01' as current_date from db.messages) q"
    " where current_date > date'2000-01-01'": "the name of a column",
    "with w as (select id, parent from db.messages) select z.x from w as z(x)": (
        "gives 1 names to 2 columns"
    ),
    "select q.ts from (select distinct m.*, r.id from db.messages m join db.messages r) q": (
        "two columns called id"
    ),
    "select id from db.messages where (id = 1) <=> parent > 3": "in two ways",
    "select id from db.messages where id = 1 and true <=> parent in (3)": "in two ways",
    "select id from db.messages where exists (select json_tuple(id, 'a') from db.messages)": (
        "a generator in the select list"
    ),
    "select id from db.messages where not exists (select window(ts, '1 day') from db.messages)": (
        "several rows of one, or none"
    ),
    "select id from db.messages where id > all (select id from db.old)": "ALL over a subquery",
    "select try_sum(id / 2) as m from db.messages": "in no fixed order",
    "select json_tuple(id, 'a') as a from db.messages": "generator",
    "select id, window(ts, '10 minutes', '5 minutes') as w from db.messages": "several rows of one",
    "select id from db.messages where window(ts, '10 minutes').end > due": "several rows of one",
    "select id from db.messages group by id, window(ts, '1 hour')": "several rows of one",
    "select id, session_window(ts, '10 minutes') as w from db.messages": "several rows of one",
    "select id, row_number() as n from db.messages": "without OVER",
    "select id, 1 + dense_rank() as n from db.messages": "without OVER",
    "select upper(id) from db.messages union all select id from db.old": "has no name",
    "select cast(id + 1 as string) from db.messages": "has no name",
    "select array(id, parent)[0] from db.messages": "has no name",
    "select date'2026-01-01', id from db.messages": "has no name",
    "select * from (select abs(id) from db.messages) z": "star takes from a subquery has no name",
    "select id from db.messages where timestamp'now' > ts": "'now' is another point in time",
    "select id from db.messages where date 'Yesterday' > d": "'Yesterday' is another point",
    "select id from db.messages where timestamp' Today UTC' > ts": "' Today UTC' is another point",
    "select id from db.messages where ts < 'tomorrow'": "'tomorrow' is another point",
    "select id from db.messages where d between '2026-01-01' and ('now')": "'now' is another point",
    "select id from db.messages where d in ('2026-01-01', 'today')": "'today' is another point",
    "select id from db.messages where to_date('today') > d": "'today' is another point",
    "select id from db.messages where datediff('today', d) > 1": "'today' is another point",
    "select coalesce(ts, 'now') as t from db.messages": "'now' is another point",
    "select case when id = 1 then 'now' else ts end as t from db.messages": "'now' is another",
    "select id from db.messages where current_time() > ts": "same value twice",
    "select aes_encrypt(id, 'k') as secret from db.messages": "same value twice",
    "select id from db.messages where time'10:00' is null": "TIME",
    "select cast(ts as time) as t from db.messages": "TIME",
    "select id from db.messages where id in (select id, at from db.old)": "1 values with 2 columns",
    "select id from db.messages where (id, parent) in (select id from db.old)": "2 values with 1",
    "select id from db.messages union select id, at from db.old": "UNION of 1 columns and 2",
    "select c from (select d as c from db.messages union select id from db.old)": "no type that is",
    "select c from (select 'a' as c from db.messages union all select id from db.old)": "no type",
    "select c from (select d as c from db.messages except select abs(id) from db.old)": "no type",
    "select d as c from db.messages union all (select ts from db.messages union all"
    " select 'a' from db.messages)": "no type that is",
    "select id from db.messages m where exists (select 1 from (select distinct id from db.old o"
    " where o.id = m.id) z)": "refers to the query around it",
    "select id from db.messages m where exists (select id from db.messages except"
    " select id from db.old o where o.id = m.parent)": "EXCEPT refers to the query around it",
    "select hash(*) as h from db.messages m join db.old o using (id)": "over USING",
    "select id from db.messages where id in (*)": "no list of columns",
    "select cast(* as string) as c from db.messages": "no list of columns",
    "select m.id from db.messages m join db.old o on hash(*) = 1": "no list of columns",
    "select hash(o.*) as h from db.messages": "no table's columns",
    "select percentile_approx(id) as p from db.messages": "could not be typed",
    "select levenshtein('a', 'b', 2) as l, id from db.messages": "would get lost",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_a_refusal_says_why(sql: str) -> None:
    with pytest.raises(Refusal) as caught:
        rewrite(sql, CATALOG)
    message = str(caught.value)
    assert REFUSED[sql] in message
    assert len(message.splitlines()) <= 5
    assert caught.value.where, "no place"
    assert caught.value.hint, "no way out"
    assert "Traceback" not in message


@pytest.mark.parametrize(
    "condition",
    [
        "now() - interval 1 day > ts",
        "current_date() > d",
        "date(now()) = d",
        "date_trunc('day', now()) > ts",
        "datediff(now(), ts) > 3",
        "timestampdiff(day, ts, now()) > 3",
        "year(now()) > 2025",
        "now() - interval 28 hours > ts",
        "now() - interval '20 hours 300 minutes' > ts",
        "now() - (ts - due) > ts",
        "now() - ts > interval 5 hours",
        "due - now() < interval 5 minutes",
        "timestampdiff(hour, ts, now()) > 3",
        "timestampadd(hour, -28, now()) > ts",
        "timestampadd(minute, id, now()) > ts",
        "localtimestamp() < due",
        "cast(now() as timestamp_ntz) > due",
        "date_trunc('minute', localtimestamp()) > due",
    ],
)
def test_days_of_now_are_refused_in_a_zone_with_transitions(condition: str) -> None:
    sql = f"select id from db.messages where {condition}"
    with pytest.raises(Refusal, match="Europe/Berlin"):
        rewrite(sql, BERLIN)
    assert rewrite(sql, CATALOG).strategy == "bounds"


@pytest.mark.parametrize(
    "condition",
    [
        "now() > ts + interval 1 day",
        "now() - interval 23 hours > ts",
        "now() - interval '20 hours 30 minutes' > ts",
        "timestampadd(hour, -3, now()) > ts",
        "unix_timestamp(now()) - unix_timestamp(ts) > 200000",
    ],
)
def test_what_no_transition_changes_is_fine_in_such_a_zone(condition: str) -> None:
    assert rewrite(f"select id from db.messages where {condition}", BERLIN).strategy == "bounds"


@pytest.mark.parametrize(
    "text",
    ["r.ts", "r.ts >= m.due", "x.ts >= m.ts", "r.ts >= m.ts + interval 1 month", "((", "r.id > 3"],
)
def test_an_assumption_of_another_form_is_refused(text: str) -> None:
    sql = "select m.id from db.messages m, db.messages r where r.parent = m.id"
    with pytest.raises(Refusal, match="assumption"):
        rewrite(sql, CATALOG, assume=(text,))


@pytest.mark.parametrize(
    ("call", "declared"),
    [
        ("my_score(id)", "my_score"),
        ("My_Score(id)", "my_score"),
        ("shop.my_score(id)", "my_score"),
        ("`Shop`.my_score(id)", "shop.my_score"),
        ("c.shop.my_score(id)", "c.shop.my_score"),
        ("c.shop.my_score(id)", "shop.my_score"),
        ("shop.upper(id)", "shop.upper"),
        ("shop.now()", "shop.now"),
    ],
)
def test_declared_functions_are_accepted(call: str, declared: str) -> None:
    sql = f"select id from db.messages where {call} > 1"
    catalog = Catalog({"db.messages": MESSAGES}, deterministic_functions=frozenset({declared}))
    assert rewrite(sql, catalog).strategy == "bounds"
    with pytest.raises(Refusal, match="declared deterministic") as refused:
        rewrite(sql, Catalog({"db.messages": MESSAGES}))
    assert "deterministic_functions: [" in str(refused.value)


def test_only_spark_s_own_generators_are_refused_by_name() -> None:
    declared = frozenset({"shop.json_tuple"})
    catalog = Catalog({"db.messages": MESSAGES}, deterministic_functions=declared)
    own = "select shop.json_tuple(id) as v from db.messages"
    assert rewrite(own, catalog).strategy == "bounds"
    with pytest.raises(Refusal, match="a generator in the select list"):
        rewrite("select json_tuple(id, 'a') as v from db.messages", catalog)


def test_a_schema_tells_one_function_from_another() -> None:
    declared = frozenset({"shop.my_score"})
    catalog = Catalog({"db.messages": MESSAGES}, deterministic_functions=declared)
    for call in ("my_score(id)", "mall.my_score(id)", "shop.rand()"):
        with pytest.raises(Refusal, match="declared deterministic"):
            rewrite(f"select id from db.messages where {call} > 1", catalog)


def test_a_view_calls_the_function_of_its_own_schema() -> None:
    view = View("db.scored", "select id, upper(my_score(id)) as s from messages", namespace="db")
    relations = {"db.messages": MESSAGES, "db.scored": view}
    catalog = Catalog(relations, deterministic_functions=frozenset({"db.my_score"}))
    assert (
        "UPPER(db.my_score(messages.id))" in rewrite("select s from db.scored", catalog).canonical
    )


def test_the_clock_is_not_handed_to_a_function() -> None:
    catalog = Catalog({"db.messages": MESSAGES}, deterministic_functions=frozenset({"my_score"}))
    with pytest.raises(Refusal, match="monotone"):
        rewrite("select id from db.messages where my_score(now()) > 1", catalog)


@pytest.mark.parametrize(
    "columns", ["ID", "m.id, (parent)", "cast(id as string), int(m.parent)", "1, id", "m.*"]
)
def test_names_that_are_the_engine_s_too(columns: str) -> None:
    assert rewrite(f"select {columns} from db.messages m", CATALOG).strategy == "bounds"


@pytest.mark.parametrize(
    "condition",
    [
        "cast(id as string) = 'today'",
        "'now' in (upper('a'), cast(id as string))",
        "upper('now') like 'now'",
        "contains('tomorrow', 'now')",
        "case when id = 1 then 'now' else 'then' end = 'then'",
        "cast('now' as string) <> 'a'",
        "ts > timestamp'epoch'",
    ],
)
def test_texts_that_are_no_points_in_time(condition: str) -> None:
    assert rewrite(f"select id from db.messages where {condition}", CATALOG).strategy == "bounds"


def test_views_are_inlined_and_part_of_the_query() -> None:
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rewriting = rewrite("select id from db.recent", CATALOG, begin=begin)
    assert rewriting.sources == ("db.messages",)
    assert "db.messages" in rewriting.canonical


def test_layout_and_comments_do_not_change_a_query() -> None:
    one = rewrite("select ID from db.messages -- all\nwhere id>1", CATALOG).canonical
    two, three = "SELECT id FROM db.messages\n  WHERE (id > 1)", "SELECT id FROM db.messages"
    assert one == rewrite(two, CATALOG).canonical != rewrite(three, CATALOG).canonical
