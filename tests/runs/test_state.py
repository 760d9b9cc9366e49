"""The state table: whose claim stands, what marks a failed run, tables that others made or took."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.runs.fake_delta import FakeDelta, FakeError
from tests.runs.fake_session import FakeSession
from tests.runs.fake_world import STATE, at
from tests.runs.state_rows import ROW, other

from tapestry.errors import StateMissing, StateUnreadable
from tapestry.runs.engine.own_tables import create_own
from tapestry.runs.tables import state
from tapestry.runs.tables.state import ADDED, claim, compact, mark_failed, read_states, runs_of
from tapestry.runs.tables.state_row import COLUMNS, StateRow

FIRST = other(ROW, n=1, run_id="first", tau=None, t=at(1), own={}, failed=())
SECOND = replace(other(FIRST, n=2, run_id="second", t=at(2)), before=FIRST.after)


@pytest.fixture
def session() -> FakeSession:
    """A state of one run."""
    made = FakeSession(FakeDelta())
    assert claim(made, STATE, FIRST)
    return made


def rows(session: FakeSession) -> list[tuple[int, str]]:
    return [(row["n"], row["run_id"]) for row in session.delta.table(STATE).newest.rows]


def another(session: FakeSession) -> FakeSession:
    return FakeSession(session.delta)


def test_the_first_claim_makes_the_table(session: FakeSession) -> None:
    assert rows(session) == [(1, "first")]
    assert session.delta.table(STATE).newest.columns == dict(COLUMNS)


def test_what_is_claimed_is_read_as_it_was(session: FakeSession) -> None:
    assert claim(session, STATE, SECOND)
    assert read_states(session, STATE) == {"g": SECOND}
    assert runs_of(session, STATE, "g") == [FIRST, SECOND]
    assert runs_of(session, STATE, "another") == []


def test_of_two_claims_of_one_n_the_first_stands(session: FakeSession) -> None:
    assert claim(session, STATE, SECOND)
    assert not claim(session, STATE, other(SECOND, run_id="slow"))
    assert claim(session, STATE, SECOND), "one's own, sent twice, is won"
    assert rows(session) == [(1, "first"), (2, "second")]


def test_two_claims_at_one_moment(session: FakeSession) -> None:
    """The other one lands between the reading and the commit of this one."""
    theirs = other(SECOND, run_id="theirs")
    session.delta.meanwhile = partial(claim, another(session), STATE, theirs)
    assert not claim(session, STATE, SECOND)
    assert rows(session) == [(1, "first"), (2, "theirs")]


def test_claims_of_several_models_do_not_meet(session: FakeSession) -> None:
    theirs = other(SECOND, generation="h", model="s.other")
    session.delta.meanwhile = partial(claim, another(session), STATE, theirs)
    assert claim(session, STATE, SECOND)
    assert len(rows(session)) == 3


def test_many_commits_of_others_hide_no_claim(session: FakeSession) -> None:
    """Its own is no longer among those that one look at the log shows."""
    sent = session.rows

    def slow(sql: str) -> list[tuple[Any, ...]]:
        found = sent(sql)
        if sql.startswith("INSERT"):
            session.rows = sent  # type: ignore[method-assign]
            for n in range(30):
                claim(another(session), STATE, other(SECOND, generation=f"g{n}"))
        return found

    session.rows = slow  # type: ignore[method-assign]
    assert claim(session, STATE, SECOND)


def test_two_first_claims_without_a_table() -> None:
    delta = FakeDelta()
    mine, theirs = FakeSession(delta), FakeSession(delta)
    delta.meanwhile = partial(claim, theirs, STATE, other(FIRST, generation="h"))
    assert claim(mine, STATE, FIRST)
    assert len(rows(mine)) == 2


@pytest.mark.parametrize("how", ["drop", "delete_folder"])
def test_a_table_that_is_gone_loses_the_claim(session: FakeSession, how: str) -> None:
    """What it knew of the other models is gone: only a new generation begins a new one."""
    getattr(session.delta, how)(STATE)
    assert not claim(session, STATE, SECOND)
    assert read_states(session, STATE) is None
    assert claim(session, STATE, other(FIRST, generation="new"))
    assert rows(session) == [(1, "first")]


def test_the_catalog_lost_the_table(session: FakeSession) -> None:
    session.delta.forget(STATE)
    with pytest.raises(StateMissing, match=r"its folder .* is not empty"):
        claim(session, STATE, FIRST)


def old(session: FakeSession, missing: int) -> None:
    """The table as an earlier version made it."""
    kept = dict(list(COLUMNS.items())[: len(COLUMNS) - missing])
    held = session.delta.table(STATE).newest.rows
    session.delta.drop(STATE)
    create_own(session, STATE, kept, "old")
    rows = [{**row, "format": 1, "seal": None} for row in held]
    session.delta.foreign(STATE, "WRITE", [{name: row[name] for name in kept} for row in rows])


@pytest.mark.parametrize("missing", range(1, len(ADDED) + 1))
def test_a_table_of_an_earlier_version_is_widened(session: FakeSession, missing: int) -> None:
    claim(session, STATE, SECOND)
    old(session, missing)
    found = read_states(session, STATE)
    assert found is not None
    assert found["g"] == SECOND
    old(session, missing)
    assert claim(session, STATE, other(SECOND, n=3, run_id="third", tau=at(2), t=at(3)))
    assert session.delta.table(STATE).newest.columns == dict(COLUMNS)


def test_two_processes_widen_it(session: FakeSession) -> None:
    old(session, 3)
    session.delta.meanwhile = partial(read_states, another(session), STATE)
    assert read_states(session, STATE) == {"g": FIRST}


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({**COLUMNS, "t": "string"}, "has a t of string"),
        ({name: kind for name, kind in COLUMNS.items() if name != "pins"}, "has no column pins"),
    ],
)
def test_a_table_that_runs_did_not_make(columns: dict[str, str], told: str) -> None:
    session = FakeSession(FakeDelta())
    create_own(session, STATE, columns, "theirs")

    def before(sql: str) -> None:
        if sql.startswith(("INSERT", "SELECT")):
            raise FakeError("[DATATYPE_MISMATCH] of some kind")

    session.before = before
    with pytest.raises(StateUnreadable, match=told):
        claim(session, STATE, FIRST)
    with pytest.raises(StateUnreadable, match=told):
        read_states(session, STATE)


def test_other_errors_pass(session: FakeSession) -> None:
    def before(sql: str) -> None:
        if sql.startswith(("INSERT", "SELECT")):
            raise FakeError("the disk is full")

    session.before = before
    for act in (partial(claim, session, STATE, SECOND), partial(read_states, session, STATE)):
        with pytest.raises(FakeError, match="disk is full"):
            act()


def test_a_failed_run_is_marked_and_unmarked(session: FakeSession) -> None:
    claim(session, STATE, SECOND)
    mark_failed(session, STATE, SECOND)
    first, second = runs_of(session, STATE, "g")
    assert (first.failed_at, second.failed_at is None) == (None, False)
    assert second.sealed, "the mark is no part of what the seal says"
    assert second.undone.after.t == at(1)
    mark_failed(session, STATE, SECOND, failed=False)
    assert runs_of(session, STATE, "g") == [FIRST, SECOND]


def test_marks_that_meet(session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another UPDATE at the same time conflicts: once more; for ever, it is told."""
    monkeypatch.setattr(state, "sleep", lambda _: None)
    theirs = other(FIRST, generation="h")
    claim(session, STATE, theirs)
    session.delta.meanwhile = partial(mark_failed, another(session), STATE, theirs)
    mark_failed(session, STATE, FIRST)
    found = read_states(session, STATE)
    assert found is not None
    assert all(isinstance(row, StateRow) and row.failed_at for row in found.values())

    def lost(sql: str) -> None:
        raise FakeError("[DELTA_CONCURRENT_APPEND] again")

    session.before = lost
    with pytest.raises(FakeError, match="again"):
        mark_failed(session, STATE, FIRST)
    assert len([text for text in session.texts if text.startswith("UPDATE")]) == 2 + state.ATTEMPTS


def test_rows_long_past_are_dropped(session: FakeSession) -> None:
    for n in range(2, 9):
        claim(session, STATE, other(SECOND, n=n, run_id=f"{n}"))
    claim(session, STATE, other(SECOND, generation="h", n=3, run_id="h"))
    compact(session, STATE, other(SECOND, n=8), keep=2)
    assert rows(session) == [(1, "first"), (6, "6"), (7, "7"), (8, "8"), (3, "h")]
