"""``max_by``, ``min_by`` and ``any_value`` written as one value: always one that Spark may give."""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pytest
from sqlglot import exp, parse_one

from tapestry.sql.read.one_value import one_value

Row = tuple[int | None, int | None]


def may_give(function: str, rows: Sequence[Row]) -> set[int | None]:
    """The values y that Spark may give of rows (y, x)."""
    if function == "any_value":
        return {y for y, _ in rows} or {None}
    known = [x for _, x in rows if x is not None]
    if not known:
        return {None}
    chosen = max(known) if function == "max_by" else min(known)
    return {y for y, x in rows if x == chosen}


@pytest.mark.parametrize("function", ["max_by", "min_by", "any_value"])
def test_the_value_is_one_that_spark_may_give(function: str) -> None:
    call = f"{function}(y)" if function == "any_value" else f"{function}(y, x)"
    tree = parse_one(f"SELECT {call} AS v FROM rows", dialect="spark")
    assert isinstance(tree, exp.Query)
    one_value(tree)
    assert not tree.find(exp.ArgMax, exp.ArgMin, exp.AnyValue)
    text = tree.sql("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows (y INT, x INT)")
    for number in range(200):
        rng = random.Random(number)
        values = [None, 1, 1, 2, 3]
        rows = [(rng.choice(values), rng.choice(values)) for _ in range(rng.randint(0, 5))]
        connection.execute("DELETE FROM rows")
        for row in rows:
            connection.execute("INSERT INTO rows VALUES (?, ?)", row)
        ((found,),) = connection.execute(text).fetchall()
        assert found in may_give(function, rows), (rows, found)
