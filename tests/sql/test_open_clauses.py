"""Names and numbers in GROUP BY, HAVING, ORDER BY and OVER become what they stand for."""

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source
from tapestry.sql.read.parse import parse
from tapestry.sql.read.resolve_names import resolve_names

COLUMNS = tuple(Column(name, "int") for name in "kvw")
CATALOG = Catalog({"m": Source("m", (*COLUMNS, Column("ts", "timestamp")), "ts")})


def resolved(sql: str) -> str:
    return resolve_names(parse(sql), CATALOG).sql("spark")


@pytest.mark.parametrize(
    ("clause", "opened"),
    [
        ("k as g, count(*) c from m group by g", "GROUP BY m.k"),
        ("k + 1 as g, count(*) c from m group by 1", "GROUP BY m.k + 1"),
        ("k + 1 as g, count(*) c from m group by all", "GROUP BY m.k + 1"),
        ("count(*) c from m group by all", "FROM m AS m"),
        ("k, 'a' as kind from m group by k, 2", "GROUP BY m.k, CAST('a' AS STRING)"),
        ("k, count(*) c from m group by k having c > 2", "HAVING COUNT(*) > 2"),
        ("k, count(*) v from m group by k having v > 2", "HAVING COUNT(*) > 2"),
        ("k as x, v as k from m order by k limit 2", "ORDER BY m.v LIMIT 2"),
        ("k as x, v + 1 as k from m order by k * 2, 1 limit 2", "(m.v + 1) * 2, m.k LIMIT 2"),
        ("k, v from m order by all desc limit 2", "ORDER BY m.k DESC, m.v DESC LIMIT 2"),
        ("k from m order by 1 limit all", "ORDER BY k"),
        (
            "sum(v) over w s from m window w as (partition by k order by ts)",
            "OVER (PARTITION BY m.k ORDER BY m.ts) AS s FROM m AS m",
        ),
        (
            "sum(v) over w s from m window u as (partition by k), w as u",
            "OVER (PARTITION BY m.k) AS s FROM m AS m",
        ),
    ],
)
def test_clauses_are_over_columns(clause: str, opened: str) -> None:
    assert resolved(f"select {clause}").endswith(opened)


def test_a_window_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refusal, match="no window is called w"):
        resolved("select sum(v) over w s from m")
