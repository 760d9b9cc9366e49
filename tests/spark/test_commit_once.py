"""Exactly once: crashes at every point, races, and a state that does not fit its target."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.killed import killed_at
from tests.spark.run_world import ALL, UNANSWERED, World, at, forget, literal, writes

from tapestry.errors import ConcurrentRun
from tapestry.names import GENERATION_PROPERTY
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.commit import publish
from tapestry.runs.protocol.plan import Circumstances


@pytest.mark.parametrize("name", crash.POINTS)
def test_killed_while_it_creates(world: World, name: str) -> None:
    model = world.model(UNANSWERED)
    with killed_at(name):
        world.run(model, 10.5)
    world.run(model, 12)
    world.run(model, 20)
    assert world.answers() == [(1, 10.0), (3, 15.0)]


def test_killed_between_the_first_commit_and_the_catalog(world: World) -> None:
    """Its files lie in the folder: nobody's, so they are written over."""
    with killed_at("claimed"):
        world.run(world.model(UNANSWERED), 10.5)
    ((generation,),) = world.session.rows(f"select generation from {world.schema}.tapestry_state")
    target = f"{world.schema}.target"
    world.session.run(
        f"create table {target} using delta"
        f" tblproperties ('{GENERATION_PROPERTY}' = '{generation}') as select 7 as id"
    )
    forget(world.session, target)
    world.run(world.model(UNANSWERED), 12)
    world.run(world.model(UNANSWERED), 20)
    assert world.answers() == [(1, 10.0), (3, 15.0)]


def test_two_first_runs_that_stage_their_rows_in_one_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first to finish removes it; the other one says who was first, not what it misses."""
    model = world.model(UNANSWERED, verify="full")
    plans = [(prepare(world.session, model, i), i) for i in (world.invocation(s) for s in (11, 12))]

    def point(here: str) -> None:
        if here == "staged" and len(plans) == 2:
            planned, invocation = plans.pop()
            execute(world.session, planned, invocation)

    monkeypatch.setattr(crash, "point", point)
    planned, invocation = plans[0]
    with pytest.raises(ConcurrentRun, match="committed first"):
        execute(world.session, planned, invocation)
    world.run(model, 20)
    assert world.answers() == [(1, 10.0), (3, 15.0)]


@pytest.mark.parametrize("verify", ["off", pytest.param("sample", marks=pytest.mark.more)])
def test_a_run_whose_statement_fails_is_closed(world: World, verify: str) -> None:
    """Else it would be executed again, over the old pins and the old query, for ever."""
    text = "select m.id, assert_true(m.id <> 4, 'no fours') is null as fine from {s}.messages m"
    world.run(world.model(text, verify=verify), 6)
    world.add((4, "d", 3, 7))
    for second in (8, 9):
        with pytest.raises(Exception, match="no fours"):
            world.run(world.model(text, verify=verify), second)
    mended = f"{text} where m.id <> 4"
    world.add((5, "e", 3, 7.5))
    done = world.run(world.model(mended, on_query_change="continue", verify=verify), 10)
    assert (done.rows, done.finished) == (1, "")
    assert [row[0] for row in world.answers()] == [1, 2, 3, 5]


@pytest.mark.parametrize("name", crash.POINTS)
def test_killed_while_it_appends_late_rows(world: World, name: str) -> None:
    model = world.model(ALL)
    world.run(model, 4)
    world.add((7, "late", None, 2), (8, "in time", None, 6))
    with killed_at(name):
        world.run(model, 10)
    world.recall = type(world.recall)()  # another process
    world.add((9, "later", None, 12))
    world.run(model, 20)
    late_at = 4.000001
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (7, late_at), (8, 6.0), (9, 12.0)]
    world.add((10, "last", None, 21), (11, "late again", None, 3))
    world.run(model, 30)
    assert world.answers()[-2:] == [(10, 21.0), (11, 20.000001)] or name == "confirmed"
    assert len(world.answers()) == 8


def test_a_crashed_run_is_executed_as_it_was(world: World) -> None:
    """Its query too, though the author has changed it since."""
    world.run(world.model(ALL), 1)
    with killed_at("claimed"):
        world.run(world.model(ALL), 5)
    world.add((4, "b", None, 4.5))
    changed = world.model(ALL + " where author = 'b'", on_query_change="continue")
    world.run(changed, 9)
    # 3 by the old text up to 5; 4 was missing at 5, so it arrives just after, by the new text
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 5.000001)]
    assert world.states("n, unix_seconds(t)") == [
        (n, int(at(t).timestamp())) for n, t in ((1, 1), (2, 5), (3, 9))
    ]


def test_the_run_after_a_crash_tells_what_it_finished(world: World) -> None:
    """Though it finds nothing new itself; where the crashed run had landed nothing is left."""
    model = world.model(ALL)
    world.run(model, 0.5)
    told = []
    for seconds, name in ((1, "claimed"), (5, "committed")):
        with killed_at(name):
            world.run(model, seconds)
        world.recall = type(world.recall)()  # another process
        told += [str(world.run(model, seconds + 0.5)), str(world.run(model, seconds + 0.6))]
    assert told[0].startswith("1 row in (")
    assert told[0].endswith(" by a run that had been stopped; nothing new")
    assert told[1:] == ["nothing new"] * 3


def test_a_warm_process_that_was_overtaken(world: World) -> None:
    """Its memory is behind: it looks again and goes on from where the other one is."""
    model = world.model(ALL)
    world.run(model, 2)
    warm, other = world.invocation(20), World(world.session, world.schema)
    planned = writes(prepare(world.session, model, warm))
    assert planned.circumstances.warm
    other.run(model, 10)
    world.add((4, "c", None, 15))
    warm.pins = type(warm.pins)(warm.recall, warm.time_zone)
    execute(world.session, planned, warm)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 15.0)]


def test_two_runs_from_the_same_state(world: World) -> None:
    """t = 20 and t = 21 from τ = 10: one lands, the other says so; nothing twice, nothing lost."""
    model = world.model(ALL)
    world.run(model, 10)
    world.add((4, "c", None, 15), (5, "c", None, 20.5))
    one, two = world.invocation(20), world.invocation(21)
    world.recall.forget(f"{world.schema}.target")  # two processes know of each other by the state
    plans = [writes(prepare(world.session, model, i)) for i in (one, two)]
    assert [p.row.n for p in plans] == [2, 2]
    plans = [replace(planned, circumstances=Circumstances()) for planned in plans]
    execute(world.session, plans[1], two)
    with pytest.raises(ConcurrentRun, match="nothing is lost"):
        execute(world.session, plans[0], one)
    world.add((6, "c", None, 25))
    world.run(model, 30)
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4, 5, 6]


def test_a_slow_run_and_the_one_that_took_it_for_dead(world: World) -> None:
    """A run that only slept after its claim commits nothing twice when it wakes up."""
    model = world.model(ALL)
    world.run(model, 4)
    world.add((4, "c", None, 6))
    slow = world.invocation(10)
    planned = writes(prepare(world.session, model, slow))
    with killed_at("before_written"):
        execute(world.session, planned, slow)
    world.run(model, 12)
    publish(world.session, planned.row, planned.main)
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4]


def test_two_creations(world: World) -> None:
    model = world.model(ALL)
    one, two = world.invocation(20), world.invocation(21)
    plans = [prepare(world.session, model, i) for i in (one, two)]
    execute(world.session, plans[0], one)
    with pytest.raises(ConcurrentRun):
        execute(world.session, plans[1], two)
    assert world.run(model, 30).action == "nothing"


def test_an_append_that_meets_a_refresh(world: World) -> None:
    """Planned for the old generation: in the new table its rows would stand twice."""
    model = world.model(ALL)
    world.run(model, 2)
    late = world.invocation(10)
    planned = prepare(world.session, model, late)
    world.run(model, 20, full_refresh=True)
    with pytest.raises(ConcurrentRun):
        execute(world.session, planned, late)
    assert [i for i, _ in world.answers()] == [1, 2, 3]
    world.add((4, "c", None, 25))
    world.run(model, 30)
    assert [i for i, _ in world.answers()] == [1, 2, 3, 4]


def test_a_refresh_killed_half_way(world: World) -> None:
    """The old generation is closed, the new one not there: the next run builds it."""
    model = world.model(ALL)
    world.run(model, 2)
    with killed_at("ready"):
        world.run(model, 10, full_refresh=True)
    assert world.run(model, 20).action == "create"
    assert [i for i, _ in world.answers()] == [1, 2, 3]


def test_a_state_that_is_older_than_its_target(world: World) -> None:
    """Restored from a backup: the notes of the table's commits say what it lacks."""
    model = world.model(ALL)
    world.run(model, 2)
    old = world.versions("tapestry_state") - 1
    world.run(model, 6)
    world.session.run(f"restore table {world.schema}.tapestry_state to version as of {old}")
    world.add((4, "c", None, 8))
    world.recall = type(world.recall)()  # another process
    world.run(model, 10)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 8.0)]
    assert sorted(world.states("n")) == [(1,), (2,), (3,)]


def test_settings_of_the_session_stay_as_they_are(world: World) -> None:
    world.run(world.model(ALL), 2)
    world.run(world.model(ALL), 6)
    assert not [t for t in world.session.texts if t.lower().startswith("set ")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("verify", ["off", "full"])
def test_a_crashed_run_over_a_source_that_has_got_a_column_since(world: World, verify: str) -> None:
    """Found by a random life: what was read then was asked for the columns of today."""
    joined = "select m.id, r.id as r from {s}.messages m join {s}.messages r on r.parent = m.id"
    model = world.model(joined, verify=verify)
    world.run(model, 2)
    world.add((4, "b", 1, 1.5), (5, "b", 1, 4))
    with killed_at("claimed"):
        world.run(model, 6)
    world.recall = type(world.recall)()
    world.session.run(f"alter table {world.schema}.messages add columns (topic string)")
    world.session.run(
        f"insert into {world.schema}.messages values (6, 'c', 1, {literal(8)}, 'new')"
    )
    world.run(model, 9)
    expected = [(1, 4, 2.000001), (1, 5, 4.0), (1, 6, 8.0), (2, 3, 5.0)]
    assert world.answers(columns="id, r") == expected
