"""Which values may be shown, which decide, and which make a query none that a table can hold."""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.runs.kinds.maintained.how_kept import how_kept, refuse
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.operators.steady import unsteady_places

TYPES = {"id": "bigint", "k": "bigint", "x": "double", "s": "string", "m": "map<string,int>"}
COLUMNS = tuple(Column(name, kind) for name, kind in TYPES.items())
CATALOG = Catalog({"m": Source("m", COLUMNS, None)})


def reason(sql: str) -> tuple[tuple[int, ...] | None, str]:
    """The places that show what is not the same twice, and why the query is computed whole."""
    query = refuse(sql, CATALOG)
    unsteady = unsteady_places(query.tree, CATALOG)
    return unsteady, str(how_kept(query, unsteady is None, {}).whole or "")


@pytest.mark.parametrize(
    "shown",
    [
        "sum(x)", "avg(x)", "stddev(x)", "collect_list(s)", "first(s)", "mode(s)",
        "approx_percentile(x, 0.5)",
    ],
)  # fmt: skip
def test_what_is_not_the_same_twice_may_be_shown(shown: str) -> None:
    assert reason(f"select k, {shown} as v from m group by k") == ((1,), "")


@pytest.mark.parametrize(
    "sql",
    [
        "select k, sum(x) as v from m group by k having sum(x) > 1",
        "select v, count(*) as n from (select k, sum(x) as v from m group by k) group by v",
        "select distinct sum(x) as v from m group by k",
        "select k, sum(x) as v from m group by k order by v limit 3",
        "select k, sum(x) as v from m group by k union select k, x from m",
        "select id from m join (select k, sum(x) as v from m group by k) as q on q.v = m.x",
        "select v, count(*) as n from (select collect_list(s) as v from m group by k) group by v",
    ],
)
def test_where_it_decides_the_answer_is_computed_whole(sql: str) -> None:
    assert reason(sql) == (None, "full: INEXACT")


@pytest.mark.parametrize(
    "value",
    [
        "lag(s) over (partition by k order by x)",
        "ntile(2) over (partition by k order by x)",
        "row_number() over (partition by k order by x)",
        "sum(id) over (partition by k order by x rows unbounded preceding)",
        "max_by(s, x) over (partition by k)",
    ],
)
def test_what_depends_on_the_order_of_peers_is_made_total(value: str) -> None:
    assert reason(f"select id, {value} as v from m") == ((), "")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("current_user()", "nondeterministic"),
        ("input_file_name()", "nondeterministic"),
        ("rand()", "nondeterministic"),
        ("_metadata.file_path", "unknown-column"),
        ("slug(s)", "undeclared-function"),
        ("shop.slug(s)", "undeclared-function"),
    ],
)
def test_what_says_another_thing_of_the_same_row_is_refused(value: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        reason(f"select id, {value} as v from m")
    assert refused.value.code == code
