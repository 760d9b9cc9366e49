"""What `tapestry watch` shows: a live table, text, JSON."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from tapestry.cli.watch_view import JsonView, LiveView, TextView, first_line
from tapestry.schedule.ticks import Ticks, Timing
from tapestry.schedule.warm import FAILED, OK, Ran
from tapestry.schedule.watcher import BACKING_OFF, Line

GOOD = Ran("a", OK, 1200, 0.52, "appended")
QUIET = Ran("a", OK, 0, 0.2, "nothing new")
BAD = Ran("b", FAILED, 0, 0.1, "Runtime Error in model b (models/b.sql)\n  no such column\n  do: x")


def ticks() -> Ticks:
    made = Ticks([Timing("a", 30), Timing("b", 300, 5)], 0)
    made.ended("a", 65, 0.52, failed=False)
    made.ended("b", 1, None, failed=True)
    return made


def test_text_says_what_is_worth_a_line() -> None:
    said = io.StringIO()
    view = TextView(Console(file=said, width=200))
    for ran in (GOOD, QUIET, BAD, BAD, Ran("b", OK), Ran("b", OK)):
        view.ran(ran, Line())
    view.note("ending")
    lines = [line[20:] for line in said.getvalue().splitlines()]
    assert lines == [
        "a: 1,200 new rows in 0.5 s",
        "b failed: no such column",
        "b failed: no such column",
        "b: 0 new rows in 0.0 s (well again)",
        "ending",
    ]


def test_json_has_a_line_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    view = JsonView(ticks())
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    view.ran(GOOD, Line(ended_at=at))
    view.ran(BAD, Line(ended_at=at, message=BAD.message))
    view.note("for people")
    shown = capsys.readouterr()
    good, bad = map(json.loads, shown.out.splitlines())
    assert good == {
        "model": "a",
        "status": "ok",
        "rows": 1200,
        "seconds": 0.52,
        "ended_at": at.isoformat(),
        "skipped_ticks": 2,
        "failures": 0,
        "message": "",
    }
    assert (bad["status"], bad["failures"]) == ("failed", 1)
    assert shown.err == "for people\n"


def drawn(view: LiveView, width: int = 140) -> list[str]:
    to = Console(file=io.StringIO(), width=width, height=24)
    with to.capture() as captured:
        to.print(view.table())
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_table_has_a_line_a_model_what_fails_first() -> None:
    now = datetime.now(timezone.utc)
    lines = {
        "a": Line(rows=1200, total=5000, ended_at=now - timedelta(seconds=12)),
        "b": Line(BACKING_OFF, 0, 0, now, BAD.message),
    }
    view = LiveView(Console(width=140, height=24), ticks(), lambda: 77.0, lines)
    view.note("a worker was lost")
    head, b, a, *rest = drawn(view)
    assert head.split() == [
        *("model", "state", "every", "last", "run", "new", "rows", "total", "seconds", "next"),
        "skipped",
    ]
    assert b.split("  ")[0] == "b"
    assert "backing off" in b
    assert b.endswith("no such column")
    cells = [cell.strip() for cell in a.split("  ") if cell.strip()]
    assert cells == ["a", "waiting", "30 s", "12 s ago", "1,200", "5,000", "0.5", "in 13 s", "2"]
    assert rest == ["a worker was lost", "Ctrl-C ends after what is under way"]


def test_the_table_is_no_higher_than_the_terminal() -> None:
    many = Ticks([Timing(f"m{i}", 30) for i in range(100)], 0)
    view = LiveView(Console(width=100, height=24), many, lambda: 1.0)
    found = drawn(view, 100)
    assert len(found) <= 23
    assert "… and 83 more models" in found


def test_the_line_that_says_something() -> None:
    assert first_line("") == ""
    assert first_line("one\ntwo") == "one"
    assert first_line("Database Error in model b\n\n  two") == "two"
