"""Right runs pass, at both levels: random queries over random data, late rows and re-openings."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge.case import Case
from judge.data import Data
from judge.oracle import connect, load
from tests.verification.judged import asking, aware, cases, over_everything, staged_runs, utc

from tapestry.instants import EPOCH
from tapestry.sql import Rewriting
from tapestry.verification.audit import Audit, PublishedHistory
from tapestry.verification.check import APART, NOT_TOO_MUCH, Check, Result, Sample, around
from tapestry.verification.chosen_rows import RunRows
from tapestry.verification.compare import Comparison
from tapestry.verification.events import opening
from tapestry.verification.restriction import Range
from tapestry.verification.turns import turn


def _checks(case: Case, rewriting: Rewriting, connection: duckdb.DuckDBPyConnection) -> Any:
    ask = asking(connection)
    for n, tau, t, definition in staged_runs(case, rewriting, connection):
        start = utc(case.begin) or opening(definition, ask, t)
        yield n, Check(definition, RunRows("staged", start, tau, t), ask, lambda: "published")


def held(
    check: Check, connection: duckdb.DuckDBPyConnection, ranges: tuple[Range, ...]
) -> dict[int, str]:
    """The rows whose turn it is as tables, for each arm that can read them there."""
    found = {}
    for arm in check.arms():
        select = Comparison(check.definition, check.rows, arm).turn_rows(ranges)
        if select:
            found[arm] = f"turn_rows_{arm}"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {found[arm]} AS {select}")
    return found


def test_right_runs_pass_in_full(queries: int, first: int) -> None:
    """Every event instant, every row: nothing is found that is not there."""
    connection, checked = connect(), 0
    for case, rewriting in cases(range(first, first + max(1, queries // 3))):
        for _, check in _checks(case, rewriting, connection):
            checked += _passed(check.full(), case)
    assert checked


def test_right_runs_pass_in_samples(queries: int, first: int) -> None:
    """A sample that finds something wrong finds something that is wrong."""
    connection, checked = connect(), 0
    for case, rewriting in cases(range(first, first + queries)):
        for n, check in _checks(case, rewriting, connection):
            rows = check.rows
            ranges = turn(n, 3, rows.t - timedelta(days=9), rows.tau, rows.t)
            turn_rows = held(check, connection, ranges) if n % 2 else {}
            sample = Sample(ranges, f"{case.number} {n}", turn_rows=turn_rows)
            checked += _passed(check.sample(sample), case)
    assert checked


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT m.k, m.v FROM m GROUP BY m.k, m.v",
        "SELECT m.k, count(*) AS n FROM m GROUP BY m.k",
        "SELECT m.k AS a, m.d FROM m WHERE m.v > 0 GROUP BY m.k, m.d, m.v",
    ],
)
def test_each_bucket_of_right_groups_passes(sql: str) -> None:
    connection, due = connect(), datetime(2024, 1, 1)
    stamps = [due + timedelta(hours=n) for n in range(40)]
    rows = tuple((n, n, n % 3, "a", None, due, at, at, n) for n, at in enumerate(stamps))
    load(connection, Data({"m": rows, "r": (), "u": (), "x": ()}))
    asked, ask = over_everything(sql), asking(connection)
    first, last = aware(stamps[0]), aware(stamps[-1])
    own = ", '1' AS _key, CAST(min(m.ts) AS TIMESTAMPTZ) AS _matched_at FROM m"
    connection.execute(f"CREATE TEMP TABLE staged AS {sql.replace(' FROM m', own)}")
    run = RunRows("staged", first, None, last)
    for bucket in range(16):
        sample = Sample(turn(1, 1, first, None, last), "seed", turn=bucket)
        for result in Check(asked, run, ask).sample(sample):
            assert result.passed, (bucket, result)


def test_before_time_begins_there_is_nothing_to_deliver() -> None:
    """Rows of look-up tables are answers then; nothing has arrived, so no instant counts."""
    connection, early = connect(), aware(datetime(2024, 1, 1))
    due = datetime(2024, 1, 5)
    look_up = ((1, 1, 1, "a", None, due, None, 1),)
    reply = (1, 2, 2, 1, None, due, due, due, 1)
    load(connection, Data({"m": (), "r": (reply,), "u": (), "x": look_up}))
    sql = "SELECT x.id FROM x WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = x.id)"
    asked, ask = over_everything(sql), asking(connection)
    connection.execute(
        "CREATE TEMP TABLE staged AS SELECT 1 AS id, '1' AS _key,"
        " TIMESTAMPTZ '2024-01-01 00:00:00+00' AS _matched_at WHERE false"
    )
    rows = RunRows("staged", opening(asked, ask, early), None, early)
    sample = Sample(turn(1, 3, rows.start, None, early), "seed")

    check = partial(Check, asked, rows, ask)
    audit = partial(Audit, asked, PublishedHistory("staged", rows.start, early), ask)

    def results() -> list[Result]:
        return [
            *(*check().full(), *check().sample(sample)),
            *(*audit().full(), *audit().sample(sample)),
        ]

    assert all(result.passed for result in results())
    connection.execute("INSERT INTO staged VALUES (1, '1', TIMESTAMPTZ '2024-01-01 00:00:00+00')")
    assert [result.kind for result in results() if not result.passed] == [NOT_TOO_MUCH] * 4
    assert opening(asked, ask, aware(due)) == aware(due)


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


def test_an_answer_that_holds_again_is_looked_for_where_it_was_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That it was an answer then is enough: the events of all of history are not asked for."""
    connection, due = connect(), datetime(2024, 1, 1)
    day = timedelta(days=1)
    message = (1, 1, 1, "a", None, due, due, due, 1)
    soon = due + timedelta(minutes=1)
    reply = (1, 1, 2, 1, None, due, soon, soon, 1)
    load(connection, Data({"m": (message,), "r": (reply,), "u": (), "x": ()}))
    sql = (
        "SELECT m.id FROM m WHERE NOT EXISTS (SELECT 1 FROM r"
        " WHERE r.id = m.id AND now() < r.ts + INTERVAL 2 DAY)"
    )
    asked, ask = over_everything(sql), asking(connection)
    listed = "1 AS id, '1' AS _key, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS _matched_at"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE staged AS SELECT {listed} WHERE false")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE published AS SELECT {listed}")
    rows = RunRows("staged", aware(due), aware(due + 2 * day), aware(due + 4 * day))
    sample = Sample(turn(1, 1, rows.start, rows.tau, rows.t), "seed")

    def refuse(*_: Any) -> Any:
        raise AssertionError("asked for the events of all of history")

    monkeypatch.setattr(Check, "events", refuse)
    enough, too_much = Check(asked, rows, ask, lambda: "published").sample(sample)
    assert enough.passed
    assert too_much.passed
    assert enough.checked_rows
    connection.execute("DELETE FROM published")  # nothing says where to look
    with pytest.raises(AssertionError, match="all of history"):
        Check(asked, rows, ask, lambda: "published").sample(sample)
