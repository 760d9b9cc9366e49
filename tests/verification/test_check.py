"""Right runs pass, at both levels: random queries over random data, late rows and re-openings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from judge.case import Case
from judge.oracle import connect
from tests.verification.judged import asking, cases, staged_runs, utc

from tapestry.sql import Rewriting
from tapestry.verification.check import APART, Check, Result, Sample, around
from tapestry.verification.chosen import Rows
from tapestry.verification.definition import EPOCH
from tapestry.verification.events import begin_of_time
from tapestry.verification.turns import turn


def _checks(case: Case, rewriting: Rewriting, connection: duckdb.DuckDBPyConnection) -> Any:
    ask = asking(connection)
    for n, tau, t, definition in staged_runs(case, rewriting, connection):
        start = utc(case.begin) or begin_of_time(definition, ask, t) or t
        yield n, Check(definition, Rows("staged", start, tau, t), ask, lambda: "published")


def test_right_runs_pass_in_full(queries: int, seed: int) -> None:
    """Every event instant, every row: nothing is found that is not there."""
    connection, checked = connect(), 0
    for case, rewriting in cases(range(seed, seed + max(1, queries // 3))):
        for _, check in _checks(case, rewriting, connection):
            checked += _passed(check.full(), case)
    assert checked > queries


def test_right_runs_pass_in_samples(queries: int, seed: int) -> None:
    """A sample that finds something wrong finds something that is wrong."""
    connection, checked = connect(), 0
    for case, rewriting in cases(range(seed, seed + queries)):
        for n, check in _checks(case, rewriting, connection):
            rows = check.rows
            ranges = turn(n, 3, rows.t - timedelta(days=9), rows.tau, rows.t)
            checked += _passed(check.sample(Sample(ranges, f"{case.number} {n}")), case)
    assert checked > queries


@given(st.sets(st.integers(0, 10**6), max_size=60))
def test_ranges_around_instants_hold_each_once(micros: set[int]) -> None:
    instants = {EPOCH + timedelta(microseconds=us) for us in micros}
    ranges = around(instants)
    assert len(ranges) == min(APART, len(instants))
    assert all(sum(low <= s < high for low, high in ranges) == 1 for s in instants)
    assert all(low in instants and high - timedelta(0, 0, 1) in instants for low, high in ranges)


def _passed(results: tuple[Result, ...], case: Case) -> int:
    for result in results:
        assert result.passed, (case.number, case.sql, result.kind, result.findings[:3])
    return sum(result.checked_rows for result in results)
