"""Rewind: afterwards the table is Q_M(T), and what follows is as if nothing had come after T."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import ALL, BEGIN, UNANSWERED, World, at

from tapestry.errors import ConcurrentRun, WindowError
from tapestry.runs.kinds.continuous.after import rewind as module
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.continuous.after.downstream import affected
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import Rewind, rewind
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.sources.pins import Pin, newest_version
from tapestry.runs.tables.target import look

POINTS = ("planned", "claimed", "before_written", "committed", "confirmed")


def back(world: World, model: Model, seconds: float) -> Rewind | None:
    """Rewind a model in an invocation of its own."""
    invocation = world.invocation(100)
    planned = plan_rewind(world.session, model, invocation, at(seconds))
    if planned is not None:
        rewind(world.session, planned, invocation)
    return planned


def test_back_to_the_end_of_a_run_and_into_the_middle_of_one(world: World) -> None:
    model = world.model(UNANSWERED)
    for t in (10.5, 20, 40):
        world.run(model, t)
    world.add((4, "c", None, 41))
    world.run(model, 60)
    whole = [(1, 10.0), (3, 15.0), (4, 51.0)]
    assert world.answers() == whole
    planned = back(world, model, 40)
    assert planned is not None
    assert (planned.answers, planned.runs) == (1, 1)
    assert world.answers() == whole[:2]
    assert back(world, model, 40) is None
    back(world, model, 12)  # inside the window (10.5, 20]
    assert world.answers() == whole[:1]
    world.run(model, 14)
    assert world.answers() == whole[:1]
    world.run(model, 60)
    assert world.answers() == whole
    assert back(world, model, 3) is not None  # before the first run ended
    assert world.answers() == []
    world.run(model, 70)
    assert world.answers() == whole


def test_the_table_stays_what_it_was(world: World) -> None:
    """Properties, constraints, comments, partitions: no new table is made."""
    model = replace(world.model(ALL), options="partitioned by (author) comment 'ours'")
    world.run(model, 2)
    name = f"{world.schema}.target"
    world.session.run(f"alter table {name} add constraint some check (id > 0)")
    world.session.run(f"alter table {name} alter column id comment 'the message'")
    world.recall = type(world.recall)()
    world.run(model, 10)
    before = look(world.session, name)
    back(world, model, 2)
    after = look(world.session, name)
    assert before is not None
    assert after is not None
    assert before.table_id == after.table_id
    assert before.generation != after.generation
    assert "the message" in str(world.session.rows(f"describe {name}"))
    assert list(world.session.rows(f"describe detail {name}")[0][7]) == ["author"]
    assert "some" in str(world.session.rows(f"show tblproperties {name}"))
    world.run(model, 10)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0)]


@pytest.mark.parametrize("name", POINTS)
def test_killed(world: World, name: str) -> None:
    """Then somebody runs the model, or rewinds it again: nothing is lost, nothing comes twice."""
    model = world.model(ALL)
    world.run(model, 4)
    world.add((7, "late", None, 2), (8, "in time", None, 6))
    world.run(model, 10)
    world.add((9, "late again", None, 3), (10, "new", None, 15))
    world.run(model, 20)
    whole = world.answers()
    assert [i for i, _ in whole] == [1, 2, 3, 7, 8, 9, 10]
    with killed_at(name, module):
        back(world, model, 8)
    world.recall = type(world.recall)()  # another process
    world.run(model, 20)
    landed = POINTS.index(name) >= POINTS.index("committed")
    # Once the rewind has landed, what came after T is late behind T, not behind the run at 10.
    again = [(9, 8.000001) if i == 9 else (i, s) for i, s in whole]
    assert world.answers() == (again if landed else whole)
    world.recall = type(world.recall)()
    back(world, model, 8)
    assert world.answers() == [row for row in whole if row[1] <= 8]
    world.add((11, "last", None, 21))
    world.run(model, 30)
    assert world.answers() == [*again, (11, 21.0)]


def test_late_rows_keep_the_arrival_that_they_had_by_then(world: World) -> None:
    """Those that turned up later count by ts after T, and just after T where ts lies before it."""
    model = world.model(ALL)
    world.run(model, 4)
    world.add((7, "late", None, 2))
    world.run(model, 10)
    world.add((8, "later", None, 3), (9, "later", None, 9))
    world.run(model, 20)
    back(world, model, 7)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (7, 4.000001)]
    world.run(model, 20)
    after = [(1, 0.0), (2, 1.0), (3, 5.0), (7, 4.000001), (8, 7.000001), (9, 9.0)]
    assert world.answers() == after
    back(world, model, 8)  # 8 has arrived by now, and keeps that
    world.run(model, 20)
    assert world.answers() == after
    back(world, model, 6)  # and here it has not
    world.run(model, 20)
    assert world.answers() == [(i, 6.000001) if i == 8 else (i, s) for i, s in after]


def test_bad_rows_that_came_and_went_after_t(world: World) -> None:
    model = world.model(ALL)
    world.run(model, 10)
    world.add((4, "bad", None, 12), (5, "good", None, 13))
    world.run(model, 20)
    world.session.run(f"delete from {world.schema}.messages where author = 'bad'")
    back(world, model, 10)
    world.run(model, 20)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (5, 13.0)]


def test_a_bad_clock(world: World) -> None:
    model = world.model(UNANSWERED)
    world.run(model, 8)
    world.run(model, 10**9)
    world.add((4, "a", 3, 9))
    back(world, model, 8)
    world.run(model, 30)
    assert world.answers() == [(1, 10.0), (4, 19.0)]


def test_back_to_before_a_changed_query(world: World) -> None:
    """The text of then is in force again, and today's counts from T on."""
    model = world.model(ALL)
    world.run(model, 4)
    world.add((4, "b", None, 6), (5, "a", None, 7))
    changed = world.model(ALL + " where author = 'b'", on_query_change="continue")
    world.run(changed, 10)
    assert [i for i, _ in world.answers()] == [1, 2, 4]
    back(world, changed, 3)
    assert [i for i, _ in world.answers()] == [1, 2]
    world.run(model, 10)  # no change as seen from T
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4, 5]
    back(world, model, 3)
    world.run(changed, 10)
    assert [i for i, _ in world.answers()] == [1, 2, 4]


def test_verified_after_a_rewind(world: World) -> None:
    model = world.model(UNANSWERED, verify="full")
    for t in (12, 20):
        world.run(model, t)
    world.add((4, "c", None, 3), (5, "c", None, 21))
    world.run(model, 35)
    back(world, model, 13)
    outcome = world.run(model, 40)
    assert {result.status for result in outcome.results} == {"pass"}
    audited = audit(world.session, model, world.invocation(50), "full")
    assert {result.status for result in audited.results} == {"pass"}
    assert world.answers() == [(1, 10.0), (3, 15.0), (4, 13.000001), (5, 31.0)]


def test_rejected_rows_go_with_the_answers(world: World) -> None:
    rule = {"name": "known", "expect": "author <> 'x'", "on_violation": "drop"}
    model = world.model(ALL, expectations=[rule])
    world.add((4, "x", None, 3), (5, "x", None, 12))
    world.run(model, 10)
    world.run(model, 20)
    back(world, model, 11)

    def rejected() -> list[Any]:
        rows = world.session.rows(f"select id from {world.schema}.target__rejected")
        return sorted(i for (i,) in rows)

    assert rejected() == [4]
    world.run(model, 20)
    assert rejected() == [4, 5]
    assert [i for i, _ in world.answers()] == [1, 2, 3]


def test_before_what_the_state_knows(world: World) -> None:
    model = world.model(ALL)
    world.add((4, "c", None, 8))
    for t in (2, 6, 10):
        world.run(model, t)
    world.session.run(f"delete from {world.schema}.tapestry_state where n < 3")
    with pytest.raises(WindowError, match="no longer reaches back"):
        back(world, model, 4)
    assert back(world, model, 7) is not None


def test_an_append_that_meets_a_rewind(world: World) -> None:
    """Planned before it: its rows would come again with the next run."""
    model = world.model(ALL)
    world.run(model, 4)
    world.run(model, 6)
    world.add((4, "c", None, 8))
    late = world.invocation(10)
    planned = prepare(world.session, model, late)
    back(World(world.session, world.schema), model, 4)
    with pytest.raises(ConcurrentRun):
        execute(world.session, planned, late)
    world.recall = type(world.recall)()
    assert [i for i, _ in world.answers()] == [1, 2]
    world.run(model, 10)
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4]


def test_the_hour_that_comes_twice(world: World) -> None:
    """In a zone with summer time an instant is more than what a clock on the wall says."""
    twice = (datetime(2026, 10, 25, 0, 30, tzinfo=timezone.utc) - BEGIN).total_seconds()
    hour = 3600
    for i, after in ((4, 0), (5, hour - 1200), (6, hour + 600), (7, 3 * hour)):
        world.add((i, "c", None, twice + after))
    model = world.model(ALL)
    world.session.run("set time zone 'Europe/Berlin'")
    try:
        world.run(model, twice + 5 * hour)
        back(world, model, twice + hour)
    finally:
        world.session.run("set time zone 'UTC'")
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4, 5]


def test_two_rewinds_at_once(world: World) -> None:
    model = world.model(ALL)
    for t in (2, 6, 10):
        world.run(model, t)
    one, two = world.invocation(20), world.invocation(20)
    plans = [plan_rewind(world.session, model, i, at(t)) for i, t in ((one, 3), (two, 0.5))]
    assert plans[0] is not None
    assert plans[1] is not None
    rewind(world.session, plans[0], one)
    with pytest.raises(ConcurrentRun):
        rewind(world.session, plans[1], two)
    assert [i for i, _ in world.answers()] == [1, 2]
    world.run(model, 10)
    assert [i for i, _ in world.answers()] == [1, 2, 3]


def test_downstream(world: World) -> None:
    """A model over a model over a model: rewound together they go on as before."""
    up = world.model(ALL)
    chain = [up]
    for name, over in (("middle", "target"), ("down", "middle")):
        sql = f"select id, author from {world.schema}.{over} where"
        sql += " now() >= _matched_at + interval 2 seconds"
        config = parse_config("continuous", {"verify": "off"})
        chain.append(Model(name, f"{world.schema}.{name}", sql, config, {}, f"models/{name}.sql"))
    for t in (4, 10, 20):
        invocation = world.invocation(t)
        for model in chain:
            execute(world.session, prepare(world.session, model, invocation), invocation)
    downs = [world.answers(model.name) for model in chain]
    invocation = world.invocation(100)
    readers = affected(world.session, invocation, up, chain, at(5))
    assert [model.name for model in readers] == ["middle", "down"]
    assert affected(world.session, invocation, up, chain, at(20)) == []
    assert affected(world.session, invocation, chain[2], chain, at(5)) == []
    moved: dict[str, Pin] = {}
    for model in chain:
        upstream = {n: p for n, p in moved.items() if n in model.sql}
        planned = plan_rewind(world.session, model, invocation, at(5), upstream)
        assert planned is not None
        assert planned.warnings == ()
        rewind(world.session, planned, invocation)
        there = look(world.session, model.relation)
        assert there is not None
        moved[model.relation] = Pin(there.table_id, newest_version(world.session, model.relation))
    assert [len(world.answers(model.name)) for model in chain] == [3, 2, 2]
    for t in (6, 20):
        invocation = world.invocation(t)
        for model in chain:
            execute(world.session, prepare(world.session, model, invocation), invocation)
    assert [world.answers(model.name) for model in chain] == downs
