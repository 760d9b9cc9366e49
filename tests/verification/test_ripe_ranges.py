"""Where time itself makes answers of rows that arrived before the window: found without solving."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import islice

import duckdb
import pytest
from tests.verification.mutants import MUTANTS
from tests.verification.stream import BASE, QUERIES, right, runs, world

from tapestry.instants import MICRO, micros
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window
from tapestry.sql.facts import keys
from tapestry.verification.check import Sample
from tapestry.verification.definition import Definition
from tapestry.verification.ripe_ranges import ripe_ranges
from tapestry.verification.turns import turn

TAU = datetime(2026, 3, 10, 12, tzinfo=timezone.utc)
T = TAU + timedelta(hours=1)
DAY = timedelta(days=1)


def ranges(condition: str, ts: str = "timestamp") -> tuple[tuple[datetime, datetime], ...]:
    columns = (Column("id", "int"), Column("due", "timestamp"), Column("ts", ts))
    catalog = Catalog({name: Source(name, columns, "ts") for name in ("m", "r")})
    scans = {name: Scan(name, "ts", "id") for name in ("m", "r")}
    sql = f"select m.id from m where {condition}"
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    definition = Definition.read(sql, catalog, scans, "duckdb")
    return ripe_ranges(definition, lambda text: connection.execute(text).fetchall(), TAU, T)


@pytest.mark.parametrize(
    ("condition", "age"),
    [
        ("now() > m.ts + interval 28 days", 28 * DAY),
        ("m.ts <= now() - interval 28 days and m.id > 3", 28 * DAY),
        ("now() - interval 90 minutes >= m.ts", timedelta(minutes=90)),
        ("m.ts < now() + interval 1 day", -DAY),
        ("exists (select 1 from r where r.id = m.id) and now() > m.ts + interval 2 days", 2 * DAY),
    ],
)
def test_the_rows_that_come_of_age_in_the_window(condition: str, age: timedelta) -> None:
    ((low, high),) = ranges(condition)
    # every row whose condition changes in (tau, t] lies in it, those at both ends too
    assert TAU - age - MICRO <= low <= TAU - age + MICRO
    assert T - age - MICRO < high <= T - age + MICRO


def test_a_column_of_days() -> None:
    ((low, high),) = ranges("current_date() > m.ts + 2", "date")
    assert (low, high) == (low, low + MICRO)  # no day begins in this hour
    ((low, high),) = ranges("now() > m.ts + interval 12 hours", "date")
    assert low <= datetime(2026, 3, 10, tzinfo=timezone.utc) < high


@pytest.mark.parametrize(
    "condition",
    [
        "m.id > 3",  # no clock
        "now() > m.due",  # tells nothing about arrivals
        "m.ts > m.due and now() > m.ts + (m.due - m.ts)",
        "exists (select 1 from r where r.id = m.id and now() > r.ts + interval 1 day)",  # not m's
    ],
)
def test_what_tells_nothing_of_where_to_look(condition: str) -> None:
    assert ranges(condition) == ()


def test_two_comparisons_at_most() -> None:
    hours = " or ".join(f"now() > m.ts + interval {n} hours and m.id = {n}" for n in (1, 2, 3))
    assert len(ranges(hours)) == 2


@pytest.mark.parametrize("ripe", [True, False])
def test_a_mistake_with_rows_that_come_of_age_is_noticed(ripe: bool) -> None:
    """Rows that arrived four windows ago: with history cut into a million parts only this looks."""
    sql, noticed = QUERIES["an anti-join"], 0
    for run in islice(runs(world(), sql, MUTANTS["blocking rows are ignored"]), 1, 13):
        check, tau = run.again(), run.rows.tau
        assert tau is not None
        found = ripe_ranges(check.definition, check.ask, tau, run.rows.t) if ripe else ()
        ranges = turn(run.n, 10**6, BASE, tau, run.rows.t, found)
        enough, not_too_much = check.sample(Sample(ranges, str(run.n), elsewhere=0))
        assert enough.passed
        noticed += not not_too_much.passed
    assert bool(noticed) == ripe


def _old_rows_are_wrong(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
    """Another value where the row arrived before the window."""
    rows, tau = right(rewriting, window, scans), window.tau
    old = "FALSE" if tau is None else f"{keys.first_stamp('n._key')} <= {micros(tau)}"
    return f"SELECT n.* REPLACE (CASE WHEN {old} THEN -1 ELSE v END AS v) FROM ({rows}) AS n"


@pytest.mark.parametrize("elsewhere", [2, 0])
def test_new_rows_are_looked_at_wherever_they_come_from(elsewhere: int) -> None:
    """What another column than the arrival calls up may have arrived whenever."""
    sql, noticed = "select m.id, m.v from m where now() >= m.due and m.ts < m.due", 0
    for run in islice(runs(world(), sql, _old_rows_are_wrong), 1, 13):
        ranges = turn(run.n, 10**6, BASE, run.rows.tau, run.rows.t)
        sample = Sample(ranges, str(run.n), elsewhere=elsewhere)
        noticed += not all(result.passed for result in run.again().sample(sample))
    assert bool(noticed) == bool(elsewhere)
