"""Which columns show a value that goes on changing, so that each of its values is an answer."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source, rewrite

COLUMNS = (Column("id", "int"), Column("k", "int"), Column("v", "int"), Column("ts", "timestamp"))
CATALOG = Catalog({name: Source(name, COLUMNS, "ts") for name in ("m", "r")})
RANKED = "(select m.id, rank() over (order by m.v) as n from m) q"
GROUPED = "(select m.k, max(m.ts) as t, count(*) as n from m group by m.k) q"


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select k, count(*) as n from m group by k", "n"),
        ("select k, count(*) as n from m group by k having count(*) >= 100", "n"),
        ("select k, sum(v) as s, max(v) + 1 as t from m group by k", "s, t"),
        (f"select q.id, q.n from {RANKED} where q.n <= 3", "n"),
        ("select k, count(*) as n from m group by k having count(*) = max(v)", "n"),
        ("select id, (select max(r.v) from r) as x from m", "x"),
        ("select 'a' as x, k from m group by k having count(*) > 2"
         " union all select 'b', max(r.k) from r", "k"),
    ],
)  # fmt: skip
def test_a_value_that_goes_on_changing_is_named(query: str, columns: str) -> None:
    said = rewrite(query, CATALOG).running_values
    assert said.startswith(
        f"RunningValues: every intermediate value of {columns} becomes an answer"
    )
    assert "running_values: wanted" in said


@pytest.mark.parametrize(
    "query",
    [
        "select k from m group by k having count(*) >= 100",
        "select date(ts) as day, count(*) as n from m group by date(ts)"
        " having now() >= date(ts) + interval 1 day",
        "select date(ts) as day, count(*) as n from m where now() >= date(ts) + interval 1 day"
        " group by date(ts)",
        "select k, max(ts) as t, count(*) as n from m group by k"
        " having max(ts) < now() - interval 1 hour",
        f"select q.k, q.n from {GROUPED} where q.t < now() - interval 1 hour",
        "select k, min(ts) as since from m group by k",
        f"select q.id from {RANKED} where q.n <= 3",
        "select id, rank() over (order by v) as n from m qualify n = 1",
        f"select q.id, q.n from {RANKED} where 1 = q.n and q.id > 2",
        "select k, count(*) as n from m group by k having count(*) = 3 and max(v) > 1",
        "select id from m order by v limit 3",
        "select id from m where v > 3",
        "select id, now() as seen from m where (select count(*) from r) > 3",
    ],
)
def test_nothing_is_said_of_what_is_closed_or_not_shown(query: str) -> None:
    assert rewrite(query, CATALOG).running_values == ""
