"""Runs that measure their few rows first find what the definition says; would a slip be noticed?

Of the numbers that ``--queries`` and ``--seed`` ask for a few, of each type by itself.
More: ``python -m pytest tests/property/test_measured.py --queries 4000``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from judge import chained
from judge.chained import TYPES, Found, judged
from sqlglot import exp

from tapestry.sql.planner import measure_narrowed, measured_ranges

SHARE = 2


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    return made


@pytest.mark.parametrize("kind", TYPES)
def test_measured_runs_equal_the_definition(
    kind: str, numbers: range, connection: duckdb.DuckDBPyConnection
) -> None:
    """In small steps, and in one large one."""
    total = Found()
    for number in numbers[::SHARE]:
        for steps in (True, False):
            found = judged(chained.chained(number, kind), connection, steps)
            assert not found.differences, f"{kind} {number}\n{found.differences}"
            total.answers += found.answers
            total.measured += found.measured
            total.none += found.none
    assert total.answers
    assert total.measured
    assert total.none


# -- would it notice? -----------------------------------------------------------------------------
def _ends_are_swapped(patch: pytest.MonkeyPatch) -> None:
    known = measure_narrowed.Measurement.read

    def read(self: Any, rows: Any) -> Any:
        found = known(self, rows)
        ends = {
            rows: tuple(replace(one, low=one.high, high=one.low) for one in columns)
            for rows, columns in found.ends.items()
        }
        return replace(found, ends=ends)

    patch.setattr(measure_narrowed.Measurement, "read", read)


def _any_branch_will_do(patch: pytest.MonkeyPatch) -> None:
    """What was measured of the rows of a branch is taken to hold of those tables in each."""
    known = measured_ranges.facts_of

    def facts_of(filters: Any, branch: Any, frame: Any) -> Any:
        if frame.measured is None or branch.narrowed is None:
            return known(filters, branch, frame)
        kinds = measured_ranges.kinds_of(filters)
        return {
            (rows.alias, one.name): measured_ranges.range_between(one, kinds[rows.alias, one.name])
            for rows, columns in frame.measured.ends.items()
            for one in columns
            if (rows.alias, one.name) in kinds
        }

    patch.setattr(measured_ranges, "facts_of", facts_of)


def _late_rows_are_not_measured(patch: pytest.MonkeyPatch) -> None:
    known = chained.Rewriting.measurement

    def measurement_of(self: Any, window: Any, scans: Any, dialect: str) -> Any:
        in_time = "(SELECT *, rowid FROM t WHERE arr = ts)"
        timely = {name: replace(scan, relation=in_time) for name, scan in scans.items()}
        return known(self, window, timely, dialect)

    patch.setattr(chained.Rewriting, "measurement", measurement_of)


def _nan_is_ignored(patch: pytest.MonkeyPatch) -> None:
    known = measure_narrowed._measured

    def measured(alias: str, name: str, kind: Any) -> exp.Expr:
        value = known(alias, name, kind)
        if kind.family != "double":
            return value
        condition = exp.IsNan(this=value.copy())
        return exp.Case(ifs=[exp.If(this=condition, true=exp.null())], default=value)

    patch.setattr(measure_narrowed, "_measured", measured)


MUTANTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "least and greatest are swapped": (_ends_are_swapped, "double"),
    "what holds in one branch holds in all": (_any_branch_will_do, "date"),
    "late rows are not measured": (_late_rows_are_not_measured, "decimal(15,2)"),
    "NaN has no place in the order": (_nan_is_ignored, "double"),
}
MOST = 400


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch, connection: duckdb.DuckDBPyConnection
) -> None:
    change, kind = MUTANTS[name]
    change(monkeypatch)
    cases = (chained.chained(number, kind) for number in range(MOST))
    assert any(judged(case, connection, steps=True).differences for case in cases)
