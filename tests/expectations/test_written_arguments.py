"""Arguments that Spark would cast to another value than the one that is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.try_arguments import refuse_unfit
from tapestry.runs.model.declare import Expectation

COLUMNS = {"price": "decimal(7,2)", "day": "date", "at": "timestamp", "ratio": "float"}


class _Fitting(Session):
    """Spark outside of ANSI mode: it makes a value of every text here."""

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [(False,) * sql.count("try_cast")]


def _ask(column: str, value: str) -> None:
    arguments = json.dumps({"column": column, "value_set": [value]})
    kind = "expect_column_values_to_be_in_set"
    one = Expectation("mine", "warn", kind=kind, arguments=arguments)
    refuse_unfit(_Fitting(), [one], COLUMNS, "models/m.sql")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("price", "12345.678"),
        ("day", "2026-01-03 25:99"),
        ("at", "10:00"),
        ("at", "2026-01-03 10:00:00.1234567"),
        ("ratio", "1e39"),
    ],
)
def test_a_value_that_would_be_another(column: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"mine: value_set: '{value}' is no "):
        _ask(column, value)


@pytest.mark.parametrize(("column", "value"), [("price", "12345.60"), ("at", "2026-01-03 10:00Z")])
def test_a_value_as_it_is_written(column: str, value: str) -> None:
    _ask(column, value)
