"""Garbage in ``tapestry_deliveries``: the sink concerned waits and says why, the others go on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.world import World, at
from tests.garbage import EVERY, anything

from tapestry.delivery import cursors
from tapestry.delivery.cursors import COLUMNS, Batch
from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.runs.engine.odd_rows import OddRow, read_row, sealed

FIRST = {"name": "archive", "to": "file", "path": "out"}
SECOND = {"name": "second", "to": "file", "path": "two"}
TABLE = "db.tapestry_deliveries"
GARBAGE = {
    "string": ("NULL", "''", "'other'", "'NaN'", "repeat('x', 100000)", "'1:' || repeat('0', 32)"),
    "bigint": ("NULL", "-1", "9223372036854775807"),
    "timestamp": (
        "NULL",
        "TIMESTAMP '0001-01-01 00:00:00+00:00'",
        "TIMESTAMP '9999-12-31 00:00:00+00:00'",
        "TIMESTAMP 'infinity'",
    ),
}
HARMLESS = ("noted_at", "seal")


@pytest.fixture
def delivered(world: World) -> World:
    """Two sinks that have everything up to 20."""
    world.create(FIRST, SECOND).deliver()
    world.run(20, (2, 15))
    world.deliver()
    return world


@pytest.mark.parametrize("column", [name for name in COLUMNS if name not in HARMLESS])
def test_garbage_in_a_column_stops_the_sink_alone(delivered: World, column: str) -> None:
    """Once the row is put right, the sink gets what it lacks: nothing twice, nothing lost."""
    database = delivered.session.connection
    database.execute(f"CREATE TABLE kept AS FROM {TABLE}")
    delivered.run(30, (3, 25))
    mine = "sink = 'archive' AND m = 1 AND event = 'claimed'"
    for value in GARBAGE[COLUMNS[column]]:
        database.execute(f"UPDATE {TABLE} SET {column} = {value} WHERE {mine}")
        by_name = {one.sink: one for one in delivered.deliver(only=("archive",))}
        if column not in ("model", "sink", "m") or by_name["archive"].error:
            assert "cannot be read" in by_name["archive"].error
            assert TABLE in by_name["archive"].error
            assert len(by_name["archive"].error) <= 300
        assert delivered.files() == [[2]], value
        database.execute(f"DELETE FROM {TABLE} WHERE sink = 'archive' OR sink IS NULL")
        database.execute(f"DELETE FROM {TABLE} WHERE sink NOT IN ('archive', 'second')")
        database.execute(f"DELETE FROM {TABLE} WHERE model IS DISTINCT FROM 'db.model'")
        database.execute(f"INSERT INTO {TABLE} FROM kept WHERE sink = 'archive'")
    (outcome,) = delivered.deliver(only=("second",))
    assert (outcome.error, outcome.rows) == ("", 1)
    (outcome,) = delivered.deliver(only=("archive",))
    assert (outcome.error, outcome.rows) == ("", 1)
    assert delivered.files() == delivered.files("two") == [[2], [3]]


def test_rows_too_many(delivered: World) -> None:
    database = delivered.session.connection
    database.execute(f"INSERT INTO {TABLE} FROM {TABLE}")  # each twice
    database.execute(f"INSERT INTO {TABLE} (model, sink, m) VALUES ('db.model', 'gone', 7)")
    database.execute(f"INSERT INTO {TABLE} (sink, m) VALUES ('archive', 7), (NULL, NULL)")
    delivered.run(30, (3, 25))
    assert [(one.error, one.rows) for one in delivered.deliver()] == [("", 1), ("", 1)]
    # A later batch that nobody delivered would hide what comes until then.
    line = f"SELECT * REPLACE (m + 9 AS m, NULL AS seal, {{}}) FROM {TABLE}" + (
        " WHERE sink = 'archive' AND m = 2 AND event = 'claimed' LIMIT 1"
    )
    far = "TIMESTAMP '9999-12-31 00:00:00+00:00' AS until"
    for change in (far, "'done' AS event"):
        database.execute(f"INSERT INTO {TABLE} {line.format(change)}")
        delivered.run(delivered.states_now[-1].after.t.second + 10)
        first, second = delivered.deliver()
        assert "cannot be read" in first.error
        assert not second.error
        database.execute(f"DELETE FROM {TABLE} WHERE m > 9")


def test_a_table_of_an_earlier_version(delivered: World) -> None:
    """It has no seals: it gets the column, and its rows count."""
    database = delivered.session.connection
    database.execute(f"ALTER TABLE {TABLE} DROP COLUMN seal")
    delivered.run(30, (3, 25))
    assert [(one.error, one.rows) for one in delivered.deliver()] == [("", 1), ("", 1)]
    assert delivered.files() == [[2], [3]]
    sealed_now = f"SELECT count(*) FROM {TABLE} WHERE seal IS NOT NULL"
    assert delivered.session.rows(sealed_now) == [(4,)]


def test_a_table_that_is_another(delivered: World) -> None:
    """No sink is taken for a new one, which would skip what it lacks."""
    database = delivered.session.connection
    for change in ("DROP COLUMN until", "ALTER COLUMN after TYPE VARCHAR"):
        database.execute(f"CREATE OR REPLACE TABLE kept AS FROM {TABLE}")
        database.execute(f"ALTER TABLE {TABLE} {change}")
        delivered.run(delivered.states_now[-1].after.t.second + 10)
        assert all(one.error and not one.begun for one in delivered.deliver())
        database.execute(f"CREATE OR REPLACE TABLE {TABLE} AS FROM kept")
    database.execute(f"CREATE OR REPLACE TABLE {TABLE} AS FROM kept")


LINE: dict[str, Any] = {
    "model": "db.model",
    "sink": "archive",
    "m": 3,
    "event": "claimed",
    "generation": "g",
    "after": micros(at(1)),
    "until": micros(at(2)),
    "parts": 0,
    "life": "l",
    "claim_id": "c",
}
SEALED = {**LINE, "seal": sealed(list(LINE.values()))}


def parsed(values: dict[str, Any]) -> Any:
    return read_row(TABLE, ("sink", "m"), values, cursors._parse)


@pytest.mark.parametrize("column", SEALED)
def test_no_garbage_is_a_batch(column: str) -> None:
    assert parsed(SEALED).batch.sealed
    for value in EVERY:
        found = parsed({**SEALED, column: value})
        if not isinstance(found, OddRow):
            assert found == parsed(SEALED)
        parsed({**LINE, column: value})


@given(st.lists(anything, min_size=len(SEALED), max_size=len(SEALED)))
@settings(max_examples=30, deadline=None)
def test_garbage_everywhere(values: list[Any]) -> None:
    found = parsed(dict(zip(SEALED, values, strict=True)))
    assert isinstance(found, OddRow) or found.batch.after <= found.batch.until


def test_a_claim_beside_garbage_is_not_won(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = OddRow(TABLE, (("sink", "archive"),), "parts is null")
    monkeypatch.setattr(cursors, "read_batches", lambda *_: {"archive": odd})
    monkeypatch.setattr(cursors, "wins", lambda *_: False)
    batch = Batch("db.model", "archive", 1, "g", at(1), at(2), "l")
    with pytest.raises(StateUnreadable, match="how far the sink archive got cannot be read"):
        cursors.claim(None, TABLE, batch, "g", at(2), at(3))  # type: ignore[arg-type]
