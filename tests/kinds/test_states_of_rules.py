"""The version of another table at a commit: none before the first, an error where it is gone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from tapestry.errors import StateGone
from tapestry.runs.kinds.rule import states
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.transactions import CommitWindow, Transaction

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def found(
    monkeypatch: pytest.MonkeyPatch, times: dict[int, int], before: int | None = None
) -> states.States:
    """The versions at commits 5, 6, 7 of a table, which were made at these minutes."""
    told = {version: at(minute) for version, minute in times.items()}
    monkeypatch.setattr(states, "times_of", lambda *_: told)
    commits = tuple(Transaction(number, at(number)) for number in (5, 6, 7))
    window = CommitWindow(None, 4, commits)  # type: ignore[arg-type]
    other: Any = SimpleNamespace(
        pin=Pin("other", max(times)),
        table=SimpleNamespace(table_id="other", at=lambda version: f"o@{version}"),
    )
    rule: Any = SimpleNamespace(
        name="db.t",
        config=SimpleNamespace(as_it_runs=lambda name: False),
        table=SimpleNamespace(table=SimpleNamespace(table_id="t")),
        model=SimpleNamespace(name="r", file="models/r.sql"),
        relations=SimpleNamespace(tables={"db.o": other}),
    )
    pins = None if before is None else {"db.o": Pin("other", before)}
    session: Any = None
    return states.states_of(session, rule, window, pins)


@pytest.mark.parametrize(
    ("times", "before", "right"),
    [
        ({0: 1, 1: 6}, None, ((0, 5), (1, 6))),
        ({0: 6, 1: 7}, None, ((-1, 5), (0, 6), (1, 7))),
        ({0: 9}, None, ((-1, 5),)),
        ({3: 5, 4: 6}, None, ((3, 5), (4, 6))),
        ({2: 1, 3: 6}, 2, ((2, 5), (3, 6))),
        ({4: 5, 5: 7}, 2, ((4, 5), (5, 7))),
    ],
)
def test_the_version_that_stood_then(
    monkeypatch: pytest.MonkeyPatch,
    times: dict[int, int],
    before: int | None,
    right: tuple[tuple[int, int], ...],
) -> None:
    seen = found(monkeypatch, times, before)
    assert seen.moved["db.o"] == right
    other: Any = SimpleNamespace(
        pin=Pin("other", 9), table=SimpleNamespace(at=lambda version: f"o@{version}")
    )
    sql = seen.rows_at_each("db.o", other)
    assert ("o@9 WHERE false" in sql) == (right[0][0] == -1)
    assert "@-1" not in sql


@pytest.mark.parametrize(("times", "before"), [({3: 6, 4: 7}, None), ({4: 6, 5: 7}, 2)])
def test_a_version_of_which_the_history_tells_no_more(
    monkeypatch: pytest.MonkeyPatch, times: dict[int, int], before: int | None
) -> None:
    with pytest.raises(StateGone, match=r"before the first version of db.o of which"):
        found(monkeypatch, times, before)
