"""What the report says of actions: read from both kinds of tables, judged, and shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.report.conftest import report_of
from tests.report.made_up import HOSTILE, NOW, Row, runs
from tests.report.test_read import DuckSession, deltalake

from tapestry.report.acted import actions_from
from tapestry.report.judge import judge
from tapestry.report.judge_actions import drift_by_action
from tapestry.report.make import Report
from tapestry.report.read import DeltaFolder, SessionTables
from tapestry.report.read_actions import read_actions
from tapestry.report.record import RecordedCheck
from tapestry.report.standing import LOOK, NOT_WELL, WELL
from tapestry.report.summary import summary
from tapestry.runs.tables.batches import COLUMNS
from tapestry.runs.tables.batches import NAME as TABLE

LATEST = NOW + timedelta(days=1)


def event(m: int, i: int, what: str, later: float, **more: Any) -> Row:
    """An event of a batch that was released a minute before, noted so many seconds after NOW."""
    return {
        **dict.fromkeys(COLUMNS),
        **{"action": "s.act", "life": "l2", "m": m, "i": i, "event": what},
        "at": NOW + timedelta(seconds=later),
        "release": NOW - timedelta(minutes=1),
        "key": '["C1"]',
        "cut": json.dumps({"s.rule": ["g", 1, 0, 5, []]}),
        **{"firings": 2, "rows": 4 * i, "attempt": 1},
        **more,
    }


def story() -> list[Row]:
    """Two lives; of the second three are done, one is dead, one failed, one was replayed."""
    old = {"life": "l1", "firings": 100}
    found = [event(0, 1, "born", -900, **old), event(1, 1, "claimed", -800, **old)]
    found += [event(1, 1, "dead", -790, **old), event(0, 2, "born", -700)]
    for i, taken in ((1, 0.0), (2, 5.0), (3, 60.0)):
        found.append(event(1, i, "claimed", taken))
        found.append(event(1, i, "done", taken + 2, seconds=2.0))
    for m, end, error in ((2, "dead", f"it is {HOSTILE}"), (3, "failed", "later")):
        found.append(event(m, 1, "claimed", 70))
        found.append(event(m, 1, "failed", 71, error="once"))
        found.append(event(m, 1, "claimed", 72, attempt=2))
        found.append(event(m, 1, end, 73, attempt=2, error=error))
    return [*found, event(4, 1, "dead", 80), event(4, 1, "replayed", 90)]


def table(rows: list[Row]) -> pa.Table:
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    fields = [
        pa.field(name, kinds.get(kind, pa.timestamp("us", "UTC"))) for name, kind in COLUMNS.items()
    ]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def test_both_ways_say_the_same(tmp_path: Path) -> None:
    stored = table(story())
    deltalake.write_deltalake(str(tmp_path / TABLE), stored)
    by_files, odd = read_actions(DeltaFolder(tmp_path), LATEST)
    assert odd == ()
    assert read_actions(SessionTables(DuckSession({TABLE: stored}), "s"), LATEST)[0] == by_files
    act = by_files["s.act"]
    assert act.rules == ("s.rule",)
    assert (len(act.batches), len(act.done), act.firings, act.rows_a_batch) == (6, 3, 6, 8)
    assert act.usual_wait == timedelta(seconds=120)
    assert act.longest_wait == timedelta(seconds=130)
    assert [one.name for one in act.with_event("dead")] == ["act/2/1"]
    assert [one.error for one in act.with_event("failed")] == ["later"]


def test_no_table_and_another_one(tmp_path: Path) -> None:
    assert read_actions(DeltaFolder(tmp_path), LATEST) == ({}, ())
    deltalake.write_deltalake(str(tmp_path / TABLE), pa.table({"action": ["a"], "m": [1]}))
    found, (odd,) = read_actions(DeltaFolder(tmp_path), LATEST)
    assert (found, odd.rows, odd.why) == ({}, None, "it has no column life")


def events(rows: list[Row]) -> list[Row]:
    """What the query gives of events: the last one of each batch, and its first claim."""
    newest: dict[tuple[Any, ...], Row] = {}
    for one in rows:
        key = (one["life"], one["m"], one["i"])
        taken = newest.get(key, one).get("claimed_at")
        taken = taken or (one["at"] if one["event"] == "claimed" else None)
        newest[key] = {**one, "claimed_at": taken}
    return list(newest.values())


def test_rows_that_no_run_has_written() -> None:
    odd = [
        event(-1, 1, "done", 0), event(1, 1, "gone fishing", 0), event(1, 1, "done", 10**7),
        event(1, 1, "done", 0, seconds=float("nan")), event(1, 1, "done", 0, action=None),
    ]  # fmt: skip
    fine = event(9, 1, "done", 0, cut="[" * 100_000)
    found, (left_out,) = actions_from([*odd, fine], LATEST)
    assert left_out.rows == len(odd)
    assert len(found["s.act"].batches) == 1
    assert found["s.act"].rules == ()


def report(tmp_path: Path, rows: list[Row]) -> Report:
    """The report of a project with the action of the rows, and its rule."""
    made = report_of(tmp_path, runs("s.rule", 5) + runs("s.act", 1), [])
    actions, _ = actions_from(events(rows), LATEST)
    record = replace(made.record, actions=actions)
    record = replace(record, runs=tuple(run for run in record.runs if run.model != "s.act"))
    return Report(judge(record, made.artifacts, NOW), record, made.artifacts, "s")


@pytest.mark.parametrize(
    ("rows", "state"),
    [(story(), NOT_WELL), ([one for one in story() if one["m"] not in (2,)], LOOK),
     (story()[:10], WELL), ([event(0, 1, "born", 0)], WELL)],
)  # fmt: skip
def test_how_an_action_stands(tmp_path: Path, rows: list[Row], state: str) -> None:
    made = report(tmp_path, rows)
    assert {one.name: one.state for one in made.verdict.models}["s.act"] == state
    page = made.html()
    assert "Rules and actions" in page
    assert HOSTILE not in page
    (told,) = [one for one in summary(made.verdict, "s")["models"] if one["model"] == "s.act"]
    assert told["batches"]["dead"] == (state == NOT_WELL)
    if state == NOT_WELL:
        assert "tapestry rules replay act/2/1" in page
        assert told["batches"]["wait_seconds"] == 120
        (trouble,) = [one for one in made.verdict.all_troubles if one.serious]
        assert trouble.title == "1 batch is dead: act/2/1"


def test_a_project_without_actions_has_no_such_part(tmp_path: Path) -> None:
    assert "Rules and actions" not in report_of(tmp_path, runs("s.m", 3), []).html()


@pytest.mark.parametrize("rows", [None, 0, 7])
def test_the_drift_of_what_an_action_keeps(tmp_path: Path, rows: int | None) -> None:
    made = report(tmp_path, story())
    nodes = dict(made.artifacts.nodes)
    (rule, act) = (next(one for one in nodes.values() if one.relation == name)
                   for name in ("s.rule", "s.act"))  # fmt: skip
    nodes[act.id] = replace(act, parents=(rule.id,))  # stands in for a derived table
    found = [] if rows is None else [7, rows]
    checked = tuple(
        RecordedCheck("s.rule", kind="drift", name="drift", status="pass", violations=count)
        for count in found
    )
    record = replace(made.record, checks=checked)
    made = replace(made, record=record, artifacts=replace(made.artifacts, nodes=nodes))
    told = drift_by_action(record, made.artifacts)
    assert told == ({} if rows is None else {"s.act": rows})
    assert (">drift</th>" in made.html()) == (rows is not None)
