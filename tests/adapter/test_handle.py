"""Values that dbt binds to a statement."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from dbt.adapters.tapestry.handle import literal


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "true"),
        (2**60, "1152921504606846976"),
        (Decimal("0.10"), "'0.10'"),
        ("it's \\", "('it' || CAST(X'27' AS STRING) || 's ' || CAST(X'5C' AS STRING))"),
        (dt.date(2020, 2, 29), "'2020-02-29'"),
        (dt.datetime(2020, 2, 29, 1, 2, 3), "TIMESTAMP '2020-02-29 01:02:03'"),
    ],
)
def test_literals(value: object, sql: str) -> None:
    assert literal(value) == sql
