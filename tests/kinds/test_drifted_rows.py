"""The comparison of a derived table with its query, in another engine; and its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
import sqlglot

from tapestry.cli.verify import derived_told
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.action.recompute import Recompute, recompute_mark
from tapestry.runs.kinds.action.statement import statements_in, tables_read, written_tables
from tapestry.runs.kinds.derived.compare import DriftedRows, Sides
from tapestry.runs.kinds.derived.config import key_among
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.sql.catalog import Column

COLUMNS = (Column("comp", "string"), Column("price", "double"), Column("n", "int"))


class Duck:
    """A session that asks DuckDB."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        (text,) = sqlglot.transpile(sql, read="spark", write="duckdb")
        found = duckdb.sql(text).fetchall()
        return [
            tuple(tuple(v.values()) if isinstance(v, dict) else v for v in row) for row in found
        ]


def values(rows: Sequence[tuple[str | None, float | None, int]]) -> str:
    def value(one: object) -> str:
        return "NULL" if one is None else f"'{one}'" if isinstance(one, str) else repr(one)

    listed = ", ".join(f"({', '.join(map(value, row))})" for row in rows)
    return (
        "SELECT CAST(comp AS STRING) AS comp, CAST(price AS DOUBLE) AS price, n"
        f" FROM (VALUES {listed}) AS v(comp, price, n)"
    )


ROWS = [("a", 1.0, 1), ("b", None, 2), (None, 0.0, 3), ("c", 5e6, 4), ("c", 5e6, 4)]


def compare(answer: Any, table: Any, left_out: Sequence[str] = ()) -> DriftedRows:
    gone = [f"SELECT * FROM (VALUES ('{one}')) AS v(_k0)" for one in left_out]
    sides = Sides(COLUMNS, ("comp",), values(answer), values(table), gone)
    return sides.find_differences(Duck())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "moved",
    [
        [],
        [("a", 1.0 + 1e-12, 1)],
        [(None, 1e-9, 3)],  # a sum that has come back to zero, beside prices of millions
    ],
)
def test_rounding_is_no_drift(moved: list[Any]) -> None:
    table = [row for row in ROWS if row[0] not in [one[0] for one in moved]] + moved
    found = compare(ROWS, table)
    assert (found.rows, found.looked_at) == (0, 5)


@pytest.mark.parametrize(
    ("table", "rows", "key"),
    [
        ([*ROWS[1:], ("a", 1.0001, 1)], 1, "a"),
        ([*ROWS[1:], ("a", None, 1)], 1, "a"),
        ([*ROWS[1:], ("a", 1.0, 2)], 1, "a"),
        (ROWS[:-1], 1, "c"),
        ([*ROWS, ("c", 5e6, 4)], 1, "c"),
        ([*ROWS, ("z", 1.0, 4)], 1, "z"),
        ([("a", 2.0, 1), ("b", 2.0, 2), *ROWS[2:]], 2, "a"),
    ],
)
def test_each_way_to_differ_is_found(table: Any, rows: int, key: str) -> None:
    found = compare(ROWS, table)
    assert (found.rows, found.key) == (rows, f'{{"comp":"{key}"}}')
    assert found.in_table != found.in_answer


def test_keys_that_wait_are_left_out() -> None:
    found = compare(ROWS, [("a", 9.0, 1), *ROWS[1:3]], ["a", "c"])
    assert (found.rows, found.looked_at) == (0, 2)


def test_the_macro_stands_for_a_statement() -> None:
    mark = recompute_mark("db.it's", ["a`b", "C"])
    assert Recompute.read_mark(mark) == Recompute("db.it's", ("a`b", "C"))
    assert Recompute.read_mark("select 1") is None
    assert written_tables(mark) == ("db.it's",)
    assert tables_read(mark, ()) == ()
    assert len(statements_in(mark)) == 1


def test_what_was_found_is_told() -> None:
    row = {"model": "d", "check": "drift", "status": "pass", "checked_rows": 3}
    assert derived_told(row) == (
        "d: as its query says, for what its actions have done (3 rows looked at)"
    )
    assert "nothing to compare it with: why" in derived_told({**row, "not_compared": "why"})
    assert "NOT as its query says: bad" in derived_told({**row, "status": "fail", "message": "bad"})
    assert "not be compared: bad" in derived_told({**row, "status": "error", "message": "bad"})


def test_a_key_is_one_of_the_columns() -> None:
    model = Model("d", "db.d", "select 1", parse_config("derived", {"key": ["COMP"]}))
    assert key_among(model, ["Comp", "price"]) == ("Comp",)
    with pytest.raises(ConfigurationError, match="has no column COMP"):
        key_among(model, ["price"])
