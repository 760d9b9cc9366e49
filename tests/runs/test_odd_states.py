"""A row of the state is one that a run has written, or it says what is odd: never a guess."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.garbage import EVERY, anything
from tests.runs.state_rows import ROW, other

from tapestry.errors import StateMissing, StateUnreadable
from tapestry.instants import micros
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.odd_rows import MOST, Fields, Odd, OddRow, check_seal, read_row, sealed
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.progress import reached
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.parse_state import pins_of
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state import read_states, readable, row_from_state, runs_of
from tapestry.runs.tables.state_row import (
    COLUMNS,
    FORMAT,
    Position,
    StateRow,
    pins_as_json,
    seal_of,
    values_of,
)

TABLE = "db.tapestry_state"
READ = [name for name in COLUMNS if name != "created_at"]
FREE = ("failed_at", "begin", "last_begin", "began")
"""What may change without a run being another."""
instants = st.datetimes(timezones=st.just(timezone.utc))
names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
pins = st.dictionaries(
    names, st.builds(Pin, names, st.integers(-1, MOST), st.booleans()), max_size=3
)


@st.composite
def positions(draw: Any, t: datetime) -> Position:
    own = st.dictionaries(names, st.none() | st.integers() | names, max_size=3)
    return Position(t, draw(pins), draw(names), draw(own))


@st.composite
def state_rows(draw: Any) -> StateRow:
    """Rows as runs claim them."""
    n = draw(st.integers(1, 10**6))
    tau, t = sorted([draw(instants), draw(instants)])
    return StateRow(
        RunIdentity(draw(names), draw(names), n, draw(names)),
        draw(names),
        Pin(draw(st.just("") | names), draw(st.integers(-1, MOST))),
        None if n == 1 else draw(positions(tau)),
        draw(positions(t)),
        draw(st.text(st.characters(exclude_categories=("Cs",)))),
        continues=draw(st.just("") | names),
        failed=tuple(draw(st.lists(st.integers(1, n - 1), max_size=3))) if n > 1 else (),
        beside=draw(st.sampled_from([(), ("known",), ("known", "other")])),
    )


def raw(row: StateRow) -> dict[str, Any]:
    """What a query gives of the row as it stands in the table: instants in microseconds."""
    failed_at = None if row.failed_at is None else micros(row.failed_at)
    found = {**values_of(row), "failed_at": failed_at, "seal": seal_of(row)}
    return {name: found.get(name) for name in READ}


def read(values: dict[str, Any]) -> StateRow | OddRow:
    return row_from_state(TABLE, tuple(values.values()))


@given(state_rows())
@settings(max_examples=25, deadline=None)
def test_what_a_run_writes_is_read(row: StateRow) -> None:
    found = read(raw(row))
    assert found == row
    assert isinstance(found, StateRow)
    assert found.sealed
    assert other(found, n=found.n + 1) != row
    assert "seal is null" in str(read({**raw(row), "seal": None}))
    for column, value in raw(row).items():
        if column not in FREE and value not in (None, ""):
            found = read({**raw(row), column: None})
            assert isinstance(found, OddRow) or found == row, column


def test_what_a_run_of_format_1_wrote_is_read() -> None:
    for row in (ROW, other(ROW, n=1, tau=None, failed=()), replace(ROW, beside=("known",))):
        for values in (in_format_1(row), {**in_format_1(row), "format": None}):
            found = read(values)
            assert isinstance(found, StateRow), found
            assert (found, found.sealed) == (row, True)
            old = read({**values, "seal": None})
            assert isinstance(old, StateRow)
            assert (old, old.sealed) == (row, False)
        for column, value in in_format_1(row).items():
            if column not in ("sql", "failed_at", "format") and value is not None:
                changed = f"{value}x" if isinstance(value, str) else value + 1
                assert isinstance(read({**in_format_1(row), column: changed}), OddRow), column


def in_format_1(row: StateRow) -> dict[str, Any]:
    """The row as versions with format 1 wrote it."""
    before, after = row.before, row.after
    own: Any = {**dict.fromkeys(("begin", "began")), **after.own}
    last: Any = {"begin": None} if before is None else before.own
    identity = [row.model, row.generation, row.n, row.run_id]
    tau, last_text = (None, "") if before is None else (micros(before.t), before.canonical)
    read_before = {} if before is None else before.pins
    listed = [
        [[name, pin.table_id, pin.version, pin.kept] for name, pin in sorted(some.items())]
        for some in (after.pins, read_before)
    ]
    values = [*identity, tau, micros(after.t), own["begin"], *vars(row.target).values()][:9]
    values += [*listed, after.canonical, last_text, last["begin"], own["began"], row.continues]
    values += [list(row.failed), *([list(row.beside)] if row.beside else [])]
    columns = {"begin": own["begin"], "began": own["began"], "last_begin": last["begin"]}
    none = dict.fromkeys(("kind", "own", "last_own"))
    return {**raw(row), **columns, **none, "format": 1, "seal": sealed(values)}


@pytest.mark.parametrize("column", READ)
def test_garbage_of_every_type_in_a_column(column: str) -> None:
    """With the seal nothing passes but what changes nothing; without it nothing raises."""
    for value in EVERY:
        found = read({**raw(ROW), column: value})
        if isinstance(found, StateRow):
            assert column in FREE or found == ROW, (column, value)
            assert replace(found, failed_at=None) == ROW
        else:
            text = str(found)
            assert text.startswith(f"{TABLE} where model ")
            assert text.isprintable()
            assert len(text) < 500
        read({**raw(ROW), "seal": None, column: value})


@given(st.lists(anything, min_size=len(READ), max_size=len(READ)))
@settings(max_examples=30, deadline=None)
def test_garbage_everywhere(values: list[Any]) -> None:
    found = row_from_state(TABLE, tuple(values))
    assert isinstance(found, OddRow | StateRow)
    assert len(str(found)) < 10**7


@given(st.sampled_from(READ), anything)
@settings(max_examples=100, deadline=None)
def test_random_garbage_in_a_column(column: str, value: Any) -> None:
    found = read({**raw(ROW), column: value})
    assert isinstance(found, OddRow) or replace(found, failed_at=None) == ROW


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"n": 1}, "tau is given, and n is 1"),
        ({"tau": None}, "tau is null, and n is 3"),
        ({"tau": micros(datetime(2026, 1, 3, tzinfo=timezone.utc))}, "ends before it begins"),
        ({"t": None}, "t is null"),
        ({"t": 10**18}, "t is no instant in the years 1 to 9999"),
        ({"n": 2**62}, "n is no whole number"),
        ({"pins": "{"}, "pins is no JSON"),
        ({"pins": "[" * 50_000}, "nested too deeply"),
        ({"pins": '{"a": ["x", 1], "a": ["x", 2]}'}, "a key stands there twice"),
        ({"failed": "[4]"}, "failed is no list of runs up to 3"),
        ({"beside": "[3]"}, "beside is no list of kept tables"),
        ({"beside": '["known"]'}, "its seal does not fit"),
        ({"seal": "x"}, "seal is no seal"),
        ({"run_id": "other"}, "its seal does not fit"),
        ({"seal": None}, "seal is null"),
        ({"format": None}, "its seal does not fit"),
        ({"sql": "select 2"}, "its seal does not fit"),
        ({"kind": None}, "kind is null"),
        ({"kind": "other"}, "its seal does not fit"),
        ({"own": '{"begin": 8}'}, "its seal does not fit"),
        ({"last_own": "{}"}, "its seal does not fit"),
        ({"own": "[]"}, "own is no object"),
        ({"own": "{"}, "own is no JSON"),
        ({"own": '{"a": "' + "x" * 100_000 + '"}'}, "own is longer than 100000"),
        ({"pins": '{"db.s": ["id", 5, true]}'}, "its seal does not fit"),
    ],
)
def test_the_reason_says_what_is_odd(changed: dict[str, Any], reason: str) -> None:
    found = read({**raw(ROW), **changed})
    assert isinstance(found, OddRow)
    assert reason in found.reason


def test_a_row_of_a_later_format_is_refused_before_it_is_read() -> None:
    found = read({**raw(ROW), "format": FORMAT + 1, "pins": "another form", "seal": "9:?"})
    assert isinstance(found, OddRow)
    assert f"it is of format {FORMAT + 1}" in found.reason
    with pytest.raises(StateUnreadable, match="install the version that wrote it"):
        readable(found)


class Rows(Session):
    """A session whose state table holds these rows."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.found = [tuple(row.values()) for row in rows]

    def run(self, sql: str) -> None:
        raise AssertionError("nothing is written")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.found


def test_only_the_model_concerned_stops() -> None:
    theirs = other(ROW, model="db.other", generation="h")
    session = Rows(
        {**raw(ROW), "pins": "no JSON"},
        raw(theirs),
        {**raw(ROW), "generation": None, "n": None},
        {**raw(ROW), "generation": "nobody's", "model": None},
    )
    invocation = Invocation("i", Clock(ROW.after.t), TABLE)
    assert invocation.states.of(session, "h") == theirs
    assert invocation.states.of(session, "unknown") is None
    with pytest.raises(StateUnreadable) as stopped:
        invocation.states.of(session, "g")
    error = stopped.value
    assert "db.m" in error.reason
    assert "pins is no JSON" in error.reason
    assert error.where == f"{TABLE} where model = 'db.m' and generation = 'g' and n = 3"
    assert "put that row right" in error.hint
    assert "--full-refresh" in error.hint
    assert len(str(error).splitlines()) <= 5
    assert isinstance(error, StateMissing), "rows without state never mean a first run"


@pytest.mark.parametrize("column", ["model", "generation", "n"])
def test_the_message_is_short_whatever_the_key_is(column: str) -> None:
    for value in EVERY:
        found = read({**raw(ROW), column: value})
        if isinstance(found, OddRow):
            with pytest.raises(StateUnreadable) as stopped:
                readable(found)
            assert len(str(stopped.value)) < 1200
            assert str(stopped.value).replace("\n", "").isprintable()


def test_of_two_rows_that_differ_nobody_guesses() -> None:
    states = read_states(Rows(raw(ROW), raw(ROW)), TABLE)
    assert states == {"g": ROW}, "equal ones are one"
    for two in ({"seal": None, "format": 1, "t": raw(ROW)["t"] + 1}, {"pins": "{"}, {"n": "3"}):
        for rows in ((raw(ROW), {**raw(ROW), **two}), ({**raw(ROW), **two}, raw(ROW))):
            found = (read_states(Rows(*rows), TABLE) or {})["g"]
            assert isinstance(found, OddRow)
            assert "two rows" in found.reason
            with pytest.raises(StateUnreadable):
                runs_of(Rows(*rows), TABLE, "g")


def test_the_doctor_finds_it() -> None:
    from tapestry.cli.check_state import check_state
    from tapestry.cli.checks import OK, WRONG

    (well,) = check_state(Rows(raw(ROW)), "db")
    assert (well.status, well.told) == (OK, "1 generation in db.tapestry_state")
    rows = [{**raw(ROW), "generation": f"g{n}", "pins": "no"} for n in range(7)]
    found = list(check_state(Rows(raw(ROW), *rows), "db"))
    assert [one.status for one in found] == [WRONG] * 6
    assert "db.m cannot be read: pins is no JSON" in found[0].told
    assert "put that row right" in found[0].fix
    assert found[-1].told == "and 2 rows more"


def test_runs_of_a_generation() -> None:
    first = other(ROW, n=1, tau=None, failed=())
    assert runs_of(Rows(raw(ROW), raw(first), raw(ROW)), TABLE, "g") == [first, ROW]
    with pytest.raises(StateUnreadable, match="canonical is empty"):
        runs_of(Rows(raw(ROW), {**raw(first), "canonical": ""}), TABLE, "g")


def test_a_replay_does_not_take_an_odd_row_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr(
        "tapestry.runs.kinds.continuous.progress.look", lambda *_: SimpleNamespace(generation="g")
    )
    odd = read({**raw(ROW), "n": None})
    assert isinstance(odd, OddRow)
    with pytest.raises(StateUnreadable):
        reached(Rows(), "db.m", TABLE, {"g": odd})
    assert readable(None) is None


@given(anything, st.sampled_from(["text", "whole", "instant", "json", "optional_text"]))
@settings(max_examples=200, deadline=None)
def test_a_reader_gives_its_type_or_says_what_is_odd(value: Any, kind: str) -> None:
    found = read_row("t", ("c",), {"c": value}, lambda fields: getattr(fields, kind)("c"))
    if isinstance(found, OddRow):
        assert found.reason.startswith("c is ")
        return
    wanted = {"text": str, "optional_text": str | None, "whole": int, "instant": datetime}
    assert isinstance(found, wanted.get(kind, object))


@given(pins)
@settings(max_examples=50, deadline=None)
def test_pins(found: dict[str, Pin]) -> None:
    again = pins_of(Fields({"pins": pins_as_json(found)}), "pins")
    assert again == found
    assert [pin.kept for pin in again.values()] == [found[name].kept for name in again]


def test_seals() -> None:
    assert check_seal(sealed([1, "a", None]), [1, "a", None])
    assert not check_seal(None, [1])
    assert not check_seal("2:of a later version", [1])
    for seal in (sealed([2]), "", "words", ":", "x:1"):
        with pytest.raises(Odd):
            check_seal(seal, [1])
