"""What is new for a sink: never twice, never lost, whatever happens to model and sink."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from tests.delivery.world import World, at
from tests.killed import Killed, killed_at

from tapestry.delivery import line as module
from tapestry.delivery import rows as rows_module
from tapestry.delivery.cursors import Batch, drop_old_batches

FILE = {"name": "archive", "to": "file", "path": "out"}


def test_a_new_sink_gets_nothing_older_than_itself(world: World) -> None:
    world.create(FILE)
    assert world.one().begun
    assert str(world.one()) == "model to archive: nothing new"
    world.run(20, (2, 12), (3, 20))
    outcome = world.one()
    assert (outcome.rows, outcome.batches, outcome.error) == (2, 1, "")
    assert world.files() == [[2, 3]]
    world.sinks = (FILE, {"name": "second", "to": "file", "path": "two"})
    world.run(30, (4, 25))
    world.deliver()
    world.run(40, (5, 35))
    world.deliver()
    assert (world.files(), world.files("two")) == ([[2, 3], [4], [5]], [[5]])


def test_runs_with_nothing_new_write_nothing(world: World) -> None:
    world.create(FILE).deliver()
    before = len(world.session.texts)
    for t in (20, 30, 40):
        world.run(t)
        assert world.one().batches == 0
    assert len(world.session.texts) == before
    world.run(50, (2, 45))
    assert world.one().rows == 1
    assert world.files() == [[2]]


def test_a_refresh_sends_nothing_again(world: World) -> None:
    world.create(FILE).deliver()
    world.run(20, (2, 15))
    world.deliver()
    world.build("g2", 20, (1, 5), (2, 15))
    assert world.one().batches == 0
    # A refresh that goes further brings what no run has brought before.
    world.build("g3", 30, (1, 5), (2, 15), (3, 25))
    assert world.one().rows == 1
    world.run(40, (4, 35))
    world.deliver()
    assert world.files() == [[2], [3], [4]]


def test_a_refresh_before_all_was_delivered(world: World) -> None:
    world.create(FILE).deliver()
    world.run(20, (2, 15))
    world.build("g2", 30, (1, 5), (2, 15), (3, 25))
    world.deliver()
    assert world.files() == [[2, 3]]


def test_what_was_answered_after_a_rewind_is_new(world: World) -> None:
    world.create(FILE).deliver()
    world.run(20, (2, 15), (3, 18))
    world.deliver()
    world.rewind("g2", 16)
    assert world.one().batches == 0
    world.run(30, (4, 18), (5, 25))
    world.deliver()
    assert world.files() == [[2, 3], [4, 5]]


def test_a_bad_clock_holds_nothing_up(world: World) -> None:
    """The sink was in 2057; after the rewind, or a refresh, it is back in time."""
    for again in ("rewind", "build"):
        world.session.connection.execute("DROP SCHEMA IF EXISTS db CASCADE")
        world.create({**FILE, "path": again}).deliver()
        world.run(1e9, (2, 15), (3, 2e8))
        world.deliver()
        if again == "rewind":
            world.rewind("g2", 16)
        else:
            world.build("g2", 16, (1, 5), (2, 15))
        world.run(30, (4, 25))
        world.deliver()
        assert world.files(again) == [[2, 3], [4]]


def test_two_rewinds_and_the_deeper_one_counts(world: World) -> None:
    world.create(FILE).deliver()
    world.run(40, (2, 15), (3, 35))
    world.deliver()
    world.rewind("g2", 12)
    world.run(30, (4, 14))
    world.rewind("g3", 20)
    world.run(50, (5, 45))
    world.deliver()
    assert world.files() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("name", ["planned", "claimed", "committed", "confirmed"])
@pytest.mark.parametrize("kind", ["file", "table"])
def test_killed(world: World, kind: str, name: str) -> None:
    """Then delivered again, after another run: everything once."""
    table = {"name": "archive", "to": "table", "table": "copy"}
    world.create(FILE if kind == "file" else table).deliver()
    world.run(20, (2, 15))
    with killed_at(name, module):
        world.deliver()
    world.run(30, (3, 25))
    assert world.one().error == ""
    if kind == "file":
        assert [i for ids in world.files() for i in ids] == [2, 3]
    else:
        assert world.session.rows("SELECT id FROM db.copy ORDER BY id") == [(2,), (3,)]


def test_killed_and_rewound_before_it_is_delivered_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(FILE).deliver()
    world.run(30, (2, 15), (3, 25))

    def point(here: str) -> None:
        if here == "claimed":
            raise Killed(here)

    with monkeypatch.context() as patched:
        patched.setattr(module, "point", point)
        with pytest.raises(Killed):
            world.deliver()
    world.rewind("g2", 20)
    world.run(40, (4, 22))
    world.deliver()
    assert world.files() == [[2], [4]]
    world.rewind("g3", 20)
    world.run(50, (4, 22))
    world.deliver()
    assert world.files() == [[2], [4], [4]]


def test_large_batches_are_cut_between_instants(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module.end_of_batch, "__defaults__", (3,))
    world.create(FILE).deliver()
    answers = [(2, 11), (3, 11), (4, 12), (5, 12), (6, 12), (7, 13), (8, 14)]
    world.run(20, *answers)
    assert world.one().rows == 7
    assert world.files() == [[2, 3, 4, 5, 6], [7, 8]]


def test_two_that_deliver_at_once(world: World) -> None:
    """Of two claims of one batch one stands; the other leaves the sink alone."""
    from tapestry.delivery import cursors

    world.create(FILE).deliver()
    world.run(20, (2, 15))
    last = cursors.read_batches(world.session, "db.tapestry_deliveries", "db.model")["archive"]
    row = world.states_now[-1]
    args: Any = ("g1", last.until, row.after.t)
    one = cursors.claim(world.session, "db.tapestry_deliveries", last, *args)
    two = cursors.claim(world.session, "db.tapestry_deliveries", last, *args)
    assert (one is not None, two) == (True, None)


def test_a_sink_whose_progress_was_deleted_begins_a_new_life(world: World) -> None:
    """And its new batch 1 is not taken for the old one, nor written over its file."""
    table = {"name": "copied", "to": "table", "table": "copy"}
    world.create(FILE, table).deliver()
    world.run(20, (2, 15))
    world.deliver()
    world.session.connection.execute("DELETE FROM db.tapestry_deliveries")
    assert all(outcome.begun for outcome in world.deliver())
    world.run(30, (3, 25))
    world.deliver()
    assert sorted(world.files()) == [[2], [3]]
    assert world.session.rows("SELECT id FROM db.copy ORDER BY id") == [(2,), (3,)]


def test_old_batches_are_dropped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapestry.delivery.cursors.KEEP", 3)
    world.create(FILE).deliver()
    for t in range(20, 100, 10):
        world.run(t, (t, t - 5))
        world.deliver()
    lines = world.session.rows("SELECT min(m), max(m) FROM db.tapestry_deliveries")
    assert lines == [(6, 8)]
    assert [i for ids in world.files() for i in ids] == list(range(20, 100, 10))


def test_only_some_sinks(world: World) -> None:
    world.create(FILE, {"name": "two", "to": "file", "path": "two"}).deliver()
    world.run(20, (2, 15))
    assert [outcome.sink for outcome in world.deliver(["two"])] == ["two"]
    assert (world.files(), world.files("two")) == ([], [[2]])


def test_a_table_that_cannot_take_it_waits(world: World) -> None:
    table = {"name": "copied", "to": "table", "table": "copy"}
    world.create(FILE, table).deliver()
    world.session.connection.execute("CREATE TABLE db.copy (other INT)")
    world.run(20, (2, 15))
    file, copied = world.deliver()
    assert (file.error, file.rows) == ("", 1)
    assert "db.copy did not take the rows" in copied.error
    world.session.connection.execute("DROP TABLE db.copy")
    world.run(30, (3, 25))
    assert [outcome.error for outcome in world.deliver()] == ["", ""]
    assert world.session.rows("SELECT id FROM db.copy ORDER BY id") == [(2,), (3,)]


def test_a_table_in_a_schema_that_is_not_there(world: World) -> None:
    table = {"name": "copied", "to": "table", "table": "copies.answers"}
    world.create(table).deliver()
    world.run(20, (2, 15))
    assert [outcome.error for outcome in world.deliver()] == [""]
    assert world.session.rows("SELECT id FROM copies.answers") == [(2,)]


def test_an_engine_slower_than_a_sink_is_patient(world: World) -> None:
    world.create({**FILE, "patience": "5 seconds"}).deliver()
    world.run(20, (2, 15))
    lost = [0.0]  # every statement takes a minute
    now = time.monotonic
    world.monkeypatch.setattr(time, "monotonic", lambda: now() + lost[0])
    ask = world.session._execute

    def slowly(sql: str) -> Any:
        lost[0] += 60
        return ask(sql)

    world.monkeypatch.setattr(world.session, "_execute", slowly)
    assert [outcome.error for outcome in world.deliver()] == [""]
    assert world.files() == [[2]]


def test_of_two_that_drop_old_batches_at_once_none_minds(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    def lose(sql: str) -> None:
        raise RuntimeError("[DELTA_CONCURRENT_DELETE_READ] OPTIMIZE")

    batch = Batch("db.model", "ops", 100, "g1", at(0), at(10), "life")
    with caplog.at_level("DEBUG", logger="tapestry"):
        drop_old_batches(SimpleNamespace(run=lose), "db.tapestry_deliveries", batch)  # type: ignore[arg-type]
    assert [(said.levelname, said.args is not None) for said in caplog.records] == [("DEBUG", True)]
