"""Garbage in the logs: the odd row is left out and counted, the others and the page are there."""

from __future__ import annotations

import random
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.garbage import EVERY, anything
from tests.report.made_up import NOW, checks, runs
from tests.report.test_read import DuckSession

from tapestry.report.artifacts import Artifacts
from tapestry.report.judge import judge
from tapestry.report.make import Report
from tapestry.report.read import DeltaFolder, SessionTables, read_record
from tapestry.report.record import CHECK_COLUMNS, RUN_COLUMNS, Record
from tapestry.runs.protocol import writing as writings

deltalake = pytest.importorskip("deltalake", reason="the package deltalake is not installed")
GOOD = runs("s.good", 8)
CHECKED = checks(GOOD, "enough", "enough", details='{"a": 1}')


def page_of(record: Record) -> tuple[Report, str]:
    report = Report(judge(record, Artifacts(), NOW), record, Artifacts(), "s")
    report.summary()
    assert report.told()
    return report, report.html()


def test_garbage_in_every_column_of_the_logs() -> None:
    """One page over all of it: what is good is there, what is left out is said."""
    odd = [{**GOOD[3], "model": "s.odd", c: v} for c in RUN_COLUMNS for v in EVERY[::2]]
    found = [{**CHECKED[3], "model": "s.odd", c: v} for c in CHECK_COLUMNS for v in EVERY[1::2]]
    waiting = [
        {"model": "s.good", "sink": "x", "since": NOW, column: value}
        for column in ("model", "sink", "since")
        for value in EVERY
    ]
    rng = random.Random(7)
    rng.shuffle(odd)
    record = Record.from_rows([*odd, *GOOD], [*found, *CHECKED], waiting=waiting, now=NOW)
    assert [run.run_id for run in record.runs if run.model == "s.good"] == [
        row["run_id"] for row in GOOD
    ]
    assert sum(check.model == "s.good" for check in record.checks) == len(CHECKED)
    tables = ["tapestry_runs", "tapestry_checks", "tapestry_deliveries"]
    assert [one.table for one in record.unread] == tables
    assert all(one.rows and one.rows > len(EVERY) for one in record.unread)
    report, page = page_of(record)
    for one in record.unread:
        assert f"{one.rows:,}".replace(",", "") in page.replace(",", "")
        assert f"rows of {one.table} cannot be read" in page
        assert len(one.why) < 600
    assert not any(trouble.serious for trouble in report.verdict.troubles)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("seconds", float("nan"), "seconds is no number from 0 to 1e+09 but nan"),
        ("seconds", float("inf"), "seconds is no number"),
        ("seconds", -1.0, "seconds is no number"),
        ("seconds", "long", "seconds is no number but 'long'"),
        ("new_rows", -5, "new_rows is no whole number"),
        ("n", 2.5, "n is no whole number"),
        ("ended_at", NOW.replace(year=9999), "ended_at is 9999"),
        ("ended_at", NOW.replace(year=1), "ended_at is 0001"),
        ("ended_at", 2**62, "ended_at is no instant"),
        (
            "action",
            "dance",
            "action is none of create, append, overwrite, replace, failed but 'dance'",
        ),
        ("model", None, "model is null"),
    ],
)
def test_the_reason_is_said(column: str, value: Any, why: str) -> None:
    odd = {**GOOD[3], "run_id": "odd", column: value}
    record = Record.from_rows([odd, *GOOD], now=NOW)
    assert len(record.runs) == len(GOOD)
    (unread,) = record.unread
    assert (unread.table, unread.rows) == ("tapestry_runs", 1)
    assert why in unread.why
    assert "run_id = 'odd'" in unread.why


WRITINGS = [one for one in vars(writings).values() if isinstance(one, type) and is_dataclass(one)]


@pytest.mark.parametrize("writing", [one for one in WRITINGS if hasattr(one, "statement")])
def test_however_a_run_has_written_its_row_is_read(writing: Any) -> None:
    record = Record.from_rows([{**GOOD[3], "action": writing.action}], now=NOW)
    assert ([run.action for run in record.runs], record.unread) == ([writing.action], ())


def test_a_row_that_stands_there_twice_counts_once() -> None:
    record = Record.from_rows([*GOOD, *GOOD], [*CHECKED, *CHECKED], now=NOW)
    assert (len(record.runs), len(record.checks)) == (len(GOOD), len(CHECKED))
    assert [one.rows for one in record.unread] == [len(GOOD), len(CHECKED)]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(RUN_COLUMNS), anything, min_size=1, max_size=4),
        min_size=30,
        max_size=60,
    )
)
@settings(max_examples=3, deadline=None)
@pytest.mark.more
def test_random_garbage_has_a_page(changes: list[dict[str, Any]]) -> None:
    rows = [{**GOOD[number % 8], **change} for number, change in enumerate(changes)]
    found = [{**CHECKED[number % 8], **change} for number, change in enumerate(changes)]
    record = Record.from_rows([*rows, *GOOD], found, now=NOW)
    left = sum(one.rows or 0 for one in record.unread)
    assert len(record.runs) + len(record.checks) + left == len(rows) + len(GOOD) + len(found)
    page_of(record)


def _tables(**columns: pa.Array) -> dict[str, pa.Table]:
    good = pa.Table.from_pylist(
        [{k: v for k, v in row.items() if k not in ("horizon", "message")} for row in GOOD]
    )
    for name, values in columns.items():
        place = good.schema.get_field_index(name)
        good = good.set_column(place, name, values)
    return {"tapestry_runs": good}


BEYOND = pa.array([2**62, -(2**60), None, 0, 1, 2, 3, 4], pa.timestamp("us", "UTC"))
SHAPES = {
    "beyond the years": {"ended_at": BEYOND, "t": BEYOND, "tau": BEYOND},
    "not a number": {"seconds": pa.array([float("nan"), float("inf"), 1, 2, 3, 4, 5, -1.0])},
    "a text of 1 MB": {"sql": pa.array(["x" * 1_000_000] * 8)},
    "numbers as texts": {"n": pa.array([str(n) for n in range(8)])},
    "instants as texts": {"ended_at": pa.array(["2026-03-01"] * 8), "t": pa.array(["x"] * 8)},
    "lists": {"model": pa.array([["a"]] * 8)},
    "objects": {"ended_at": pa.array([{"a": 1}] * 8), "seconds": pa.array([{"a": 1}] * 8)},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_other_shapes(tmp_path: Path, shape: str) -> None:
    tables = _tables(**SHAPES[shape])
    for name, table in tables.items():
        deltalake.write_deltalake(str(tmp_path / name), table)
    records = [
        read_record(source, NOW)
        for source in (DeltaFolder(tmp_path), SessionTables(DuckSession(tables), "s"))
    ]
    for record in records:
        left = sum(one.rows or 0 for one in record.unread)
        assert len(record.runs) + left == 8
        assert judge(record, Artifacts(), NOW).sentence
    if shape == "a text of 1 MB":
        assert len(records[0].sql["s.good"]) == 100_000


def test_a_broken_table_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    tables = _tables()
    deltalake.write_deltalake(str(tmp_path / "tapestry_runs"), tables["tapestry_runs"])
    broken = tmp_path / "tapestry_checks/_delta_log"
    broken.mkdir(parents=True)
    (broken / "00000000000000000000.json").write_text("no commit")
    deltalake.write_deltalake(
        str(tmp_path / "tapestry_deliveries"), pa.table({"model": [1], "x": [2]})
    )
    record = read_record(DeltaFolder(tmp_path), NOW)
    assert len(record.runs) == 8
    assert [(one.table, one.rows) for one in record.unread] == [("tapestry_checks", None)]
    assert "tapestry_checks cannot be read" in page_of(record)[1]
    without = {"tapestry_runs": pa.table({"colour": ["red"]})}
    record = read_record(SessionTables(DuckSession(without), "s"), NOW)
    assert [one.why for one in record.unread] == ["it has no column model"]
