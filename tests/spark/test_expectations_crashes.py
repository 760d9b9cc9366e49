"""A run with checks is killed, closed or overtaken: no row is lost, none comes twice."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import Killed, killed_at
from tests.spark.run_world import ALL, World, ids
from tests.spark.test_expectations import NOT_B, rejected

from tapestry.errors import ConcurrentRun, ExpectationFailed
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.protocol import crash


@pytest.mark.parametrize("name", [*crash.POINTS, *crash.CHECKED_POINTS])
def test_killed_at_every_point(world: World, name: str) -> None:
    """Every row ends in the target or among the rejected ones, once."""
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    world.run(model, 4)
    world.add((7, "b", None, 2), (8, "b", None, 6), (9, "c", None, 7))
    with killed_at(name):
        world.run(model, 10)
    world.recall = type(world.recall)()
    world.add((10, "b", None, 12), (11, "c", None, 12))
    world.run(model, 20)
    assert ids(world.answers()) == [1, 3, 9, 11]
    assert [row[0] for row in rejected(world)] == [2, 7, 8, 10]


def test_killed_between_the_tables_and_corrected(world: World) -> None:
    """The rows that were rejected before the crash are published when nothing drops them now."""
    dropping = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    world.run(dropping, 4)
    world.add((8, "b", None, 6), (9, "c", None, 7))
    with killed_at("rejected"):
        world.run(dropping, 10)
    world.recall = type(world.recall)()
    world.run(world.model(ALL), 20)
    assert ids(world.answers()) == [1, 3, 8, 9]
    assert [row[0] for row in rejected(world)] == [2]


def test_killed_while_a_failed_run_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "fail"}])
    world.run(world.model(ALL), 2)
    world.add((4, "b", None, 6))

    def killed(*_: Any) -> None:
        raise Killed("closing")

    monkeypatch.setattr("tapestry.runs.protocol.commit.failed_sql", killed)
    with pytest.raises(Killed):
        world.run(model, 10)
    monkeypatch.undo()
    world.recall = type(world.recall)()
    world.run(world.model(ALL), 12)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0)]


def test_a_slow_execution_publishes_nothing_after_its_run_was_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    world.run(world.model(ALL), 2)
    world.add((4, "b", None, 6), (5, "c", None, 7))
    slow = world.invocation(10)
    planned = prepare(world.session, model, slow)
    other = World(world.session, world.schema)

    def meanwhile(here: str) -> None:
        if here == "rejected":
            monkeypatch.undo()
            strict = world.model(ALL, expectations=[{**NOT_B, "on_violation": "fail"}])
            with pytest.raises(ExpectationFailed):
                other.run(strict, 12)

    monkeypatch.setattr("tapestry.runs.protocol.crash.point", meanwhile)
    with pytest.raises(ConcurrentRun, match="failed its checks"):
        execute(world.session, planned, slow)
    assert ids(world.answers()) == [1, 2]
    world.recall = type(world.recall)()
    world.run(model, 20)
    assert ids(world.answers()) == [1, 2, 3, 5]
    assert [row[0] for row in rejected(world)] == [4]


@pytest.mark.parametrize("faster", ["a run", "a run with checks", "another refresh"])
def test_nothing_removes_what_a_refresh_is_writing(
    world: World, monkeypatch: pytest.MonkeyPatch, faster: str
) -> None:
    """Its rejected rows stand there before its table does; a run that lands meanwhile tidies up.

    One with checks removes its staged rows, and another refresh takes the rejected ones for left
    over: of two such runs one lands.
    """
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    world.run(model, 4)
    world.add((4, "b", None, 6), (5, "c", None, 7))
    slow, other = world.invocation(10), World(world.session, world.schema)
    planned = prepare(world.session, model, slow, full_refresh=True)

    def meanwhile(here: str) -> None:
        if here == "rejected":
            monkeypatch.undo()
            plain = world.model(ALL) if faster == "a run" else model
            other.run(plain, 8, full_refresh=faster == "another refresh")

    monkeypatch.setattr("tapestry.runs.protocol.crash.point", meanwhile)
    if faster == "a run":
        execute(world.session, planned, slow)
    else:
        with pytest.raises(ConcurrentRun, match="committed first"):
            execute(world.session, planned, slow)
    assert ids(world.answers()) == [1, 3, 5]
    assert {row[0] for row in rejected(world)} == {2, 4}
    world.recall = type(world.recall)()
    world.run(model, 20, full_refresh=True)
    assert [row[0] for row in rejected(world)] == [2, 4]


def test_a_crashed_run_whose_columns_the_expectations_do_not_know(world: World) -> None:
    world.run(world.model(ALL), 2)
    with killed_at("claimed"):
        world.run(world.model(ALL), 5)
    world.recall = type(world.recall)()
    world.add((4, "b", None, 4.5))
    model = world.model(
        "select m.id, m.author, m.parent from {s}.messages m",
        expectations=[{"expect": "parent is null or parent > 0"}],
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )
    world.run(model, 9)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 4.5)]


def test_late_rows_of_a_failed_run_come_once_after_one_that_was_given_up(world: World) -> None:
    """The second run cleans up after the first only once it is executed, and it never is."""
    checked = world.model(
        ALL,
        expectations=[
            {"expect": "id <> 9", "on_violation": "fail"},
            {"expect": "author is not null"},
        ],
    )
    world.run(checked, 20)
    world.add((9, "a", None, 5))
    with pytest.raises(ExpectationFailed):
        world.run(checked, 30)
    with killed_at("claimed"):
        world.run(checked, 30)
    world.recall = type(world.recall)()
    renamed = world.model(
        ALL.replace("m.author", "m.author as who"),
        expectations=[{"expect": "who is not null"}],
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )
    world.run(renamed, 40)
    assert world.answers() == [(1, 0), (2, 1), (3, 5), (9, 20.000001)]
    assert world.states("n, failed") == [(1, "[]"), (2, "[]"), (3, "[2]"), (4, "[2, 3]")]


def test_a_slow_execution_that_writes_late_rows_after_its_run_was_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run has landed since: what the slow one writes beside the table belongs to none."""
    sql = "select m.id, r.id as r from {s}.messages m join {s}.messages r on r.parent = m.id"
    model = world.model(sql)
    world.run(model, 10)
    world.add((4, "c", None, 2), (5, "c", 4, 12))
    slow = world.invocation(20)
    planned = prepare(world.session, model, slow)
    other = World(world.session, world.schema)

    def meanwhile(here: str) -> None:
        if here == "claimed":
            monkeypatch.undo()
            strict = [{"expect": "id <> 4", "on_violation": "fail"}]
            with pytest.raises(ExpectationFailed):
                other.run(world.model(sql, expectations=strict), 22)
            other.run(model, 24)

    monkeypatch.setattr("tapestry.runs.protocol.crash.point", meanwhile)
    with pytest.raises(ConcurrentRun, match="failed its checks"):
        execute(world.session, planned, slow)
    world.recall = type(world.recall)()
    world.add((6, "c", 4, 25))
    world.run(model, 30)
    assert world.answers(columns="id, r") == [(2, 3, 5), (4, 5, 12), (4, 6, 25)]


def test_a_crashed_run_brings_its_new_column(world: World) -> None:
    """The query of a crashed run is told from the state: Spark is asked for that one's types."""
    world.run(world.model("select m.id from {s}.messages m"), 2)
    wider = world.model(
        "select m.id, m.ts as At from {s}.messages m where m.author <> 'z' -- known ones",
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )
    with killed_at("claimed"):
        world.run(wider, 9)
    world.recall = type(world.recall)()
    world.run(wider, 12)
    found = [(i, at is not None) for i, at, _ in world.answers(columns="id, at")]
    assert found == [(1, False), (2, False), (3, True)]
