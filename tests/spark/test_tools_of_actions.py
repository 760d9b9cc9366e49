"""What an action in Python is given for the rows of its batch, on Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tapestry.actions import black_scholes, call_price, last_per
from tapestry.errors import ConfigurationError

pytestmark = pytest.mark.more


def test_prices_as_a_column(session: Any) -> None:
    frame = session.frame(
        "select * from values (1, 100.00, 90, 1.0D, 0.2D), (2, NULL, 90, 1.0D, 0.2D),"
        " (3, 100.00, 90, 1.0D, NULL) as t(id, spot, strike, years, stdev)"
    )
    priced = frame.select(
        "id",
        black_scholes("spot", "strike", "years", "stdev").alias("a"),
        black_scholes("spot", frame.strike, "years", "stdev", 0.01).alias("b"),
    )
    assert priced.schema["a"].dataType.simpleString() == "double"
    rows = [tuple(row) for row in priced.orderBy("id").collect()]
    a, b = call_price(100, 90, 1, 0.2), call_price(100, 90, 1, 0.2, 0.01)
    assert rows == [(1, a, b), (2, None, None), (3, None, None)]


def test_the_newest_row(session: Any) -> None:
    frame = session.frame(
        "select * from values ('a', 1, 1, 2, 0), ('a', 2, 1, 1, 1), ('a', 3, 0, 9, 2),"
        " (NULL, 4, 1, 1, 0), (NULL, 5, 2, 0, 0)"
        " as t(`odd.k`, v, commit_time, commit_version, execute_order)"
    )
    found = last_per(frame, "ODD.K").orderBy("v").collect()
    assert [row.v for row in found] == [1, 5]
    assert found[0].__fields__ == frame.columns
    of_batch = frame.toDF("k", "v", "_commit_time", "_commit_version", "_row")
    assert sorted(row.v for row in last_per(of_batch, "k").collect()) == [1, 5]
    both = of_batch.selectExpr("*", "1 as commit_time", "1 as commit_version", "1 as execute_order")
    assert sorted(row.v for row in last_per(both.where("k = 'a'"), "k").collect()) == [3]
    for columns, says in ((("z",), "no column z"), ((), "needs the columns")):
        with pytest.raises(ConfigurationError, match=says):
            last_per(frame, *columns)
    with pytest.raises(ConfigurationError, match="no columns that order them"):
        last_per(frame.select("v"), "v")
