"""Rows of the state for tests: one as a run claims it, and others like it."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timezone
from typing import Any

from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import Position, StateRow

ROW = StateRow(
    RunIdentity("db.m", "g", 3, "run"),
    "continuous",
    Pin("id", 7),
    Position(
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        {"db.s": Pin("id", 3)},
        "SELECT 0",
        {"begin": 5, "began": 6},
    ),
    Position(
        datetime(2026, 1, 2, tzinfo=timezone.utc),
        {"db.s": Pin("id", 4, True)},
        "SELECT 1",
        {"begin": 7, "began": 6},
    ),
    "select 1",
    failed=(2,),
)


def other(row: StateRow, **changed: Any) -> StateRow:
    """A row with other values, whichever part of it they are in.

    ``tau`` and ``t`` are the instants before and after it; without a ``tau`` it is a first run.
    """
    if "tau" in changed:
        tau = changed.pop("tau")
        before = None if tau is None else replace(row.before or row.after, t=tau)
        row = replace(row, before=before)
    for part in ("identity", "after"):
        names = {field.name for field in fields(getattr(row, part))} & set(changed)
        values = {name: changed.pop(name) for name in names}
        row = replace(row, **{part: replace(getattr(row, part), **values)})
    return replace(row, **changed)
