"""Stored joins: pairs of rows of two sources that runs read, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World
from tests.spark.test_memories import did, memories, run

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.continuous.after.compare_memories import compare_memories
from tapestry.runs.memories import keep, write
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.memories.write import create
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.usefixtures("released")

CHAIN = (
    "select m.id, r.id as reply, q.id as answer from {s}.messages m"
    " join {s}.messages r on r.parent = m.id join {s}.messages q on q.parent = r.id"
    " where m.author = 'a' and r.id > 2"
)
"""A message of a, a reply to it, and a reply to that."""
SECOND = [(1, 5, 7, 8.0)]
THIRD = [(1, 5, 7, 8.0), (1, 9, 10, 12.0), (4, 6, 8, 11.0)]
PAIR = {"memories": [["m", "r"]], "verify": "full"}


def join_of(world: World, model: Model, seconds: float) -> MemoryRequest:
    """What the next run asks of its stored join."""
    world.recall = type(world.recall)()
    (request,) = [w for w in world.plan_rows(model, seconds).requests if w.pair is not None]
    return request


def name_of(world: World) -> str:
    """The table of its stored join."""
    (found,) = [name for name in memories(world) if "l_id" in columns_of(world, name)]
    return found


def columns_of(world: World, name: str) -> list[str]:
    return [row[0] for row in world.session.rows(f"describe table {name}")]


def pairs_in(world: World, request: MemoryRequest) -> list[tuple[Any, ...]]:
    assert request.wanted is not None
    listed = "l_id, r_id" if request.uses[0].written == "m" else "r_id, l_id"
    return sorted(world.session.rows(f"select {listed} from {request.wanted.name}"))


def begun(world: World, **config: Any) -> Model:
    """A model after two runs, its stored join flushed by the second."""
    world.add((11, "c", 1, 5.5))
    model = world.model(CHAIN, **{**PAIR, **config})
    assert did(run(world, model, 6)[1]) == ["build"] * 3
    world.add((4, "a", None, 7), (5, "b", 1, 8), (6, "b", 4, 8), (7, "a", 5, 8))
    assert did(run(world, model, 10)[1]) == ["flush"] * 3
    assert world.answers(columns="id, reply, answer") == SECOND
    return model


def third(world: World, model: Model, *deeds: str) -> str:
    """The third run; why it does not read its stored join."""
    world.add((8, "b", 6, 11), (9, "c", 1, 11), (10, "c", 9, 12))
    reason = join_of(world, model, 13).found.reason
    assert sorted(did(run(world, model, 13)[1])) == sorted(deeds)
    assert world.answers(columns="id, reply, answer") == THIRD
    return reason


def test_it_is_built_flushed_and_read(world: World) -> None:
    model = begun(world)
    world.add((8, "b", 6, 11), (9, "c", 1, 11), (10, "c", 9, 12))
    request = join_of(world, model, 13)
    assert pairs_in(world, request) == [(1, 5), (1, 11), (4, 6)]
    planned = world.plan_rows(model, 13)
    assert "_with_" in planned.rows.select
    assert did(run(world, model, 13)[1]) == ["flush"] * 3
    assert world.answers(columns="id, reply, answer") == THIRD
    assert pairs_in(world, request) == [(1, 5), (1, 9), (1, 11), (4, 6)]


def test_what_came_since_is_read_beside_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    model = begun(world)
    monkeypatch.setattr(write, "FLUSH_SHARE", 1e9)
    assert third(world, model) == ""
    world.add((12, "c", 11, 14), (13, "a", None, 14), (14, "a", 13, 15), (15, "a", 14, 15))
    world.run(model, 16)
    more = [(1, 11, 12, 14.0), (13, 14, 15, 15.0)]
    assert world.answers(columns="id, reply, answer") == sorted([*THIRD, *more])


@pytest.mark.parametrize("tracked", [False, True])
def test_equal_rows_are_as_many_pairs(world: World, tracked: bool) -> None:
    if tracked:
        tracking = "('delta.enableRowTracking' = 'true')"
        world.session.run(f"alter table {world.schema}.messages set tblproperties {tracking}")
    model = begun(world)
    world.add((8, "b", 6, 11), (9, "c", 1, 11), (9, "c", 1, 11), (10, "c", 9, 12))
    assert join_of(world, model, 13).found.relation
    run(world, model, 13)
    both = [(1, 9, 10, 12.0)] * 2
    assert world.answers(columns="id, reply, answer") == sorted([*SECOND, (4, 6, 8, 11.0), *both])
    ids = f"select count(distinct l__tap_row, r__tap_row), count(*) from {name_of(world)}"
    assert world.session.rows(ids) == [(5, 5)]


@pytest.mark.parametrize(
    "damage",
    ["delete from {t} where true", "insert into {t} select * from {t}", "update {t} set l_id = 1"],
)
def test_one_that_somebody_changed_is_built_again(world: World, damage: str) -> None:
    model = begun(world)
    world.session.run(damage.format(t=name_of(world)))
    assert third(world, model, "flush", "flush", "drop", "build") == "FOREIGN_COMMIT"


def test_one_that_is_gone_is_built_again(world: World) -> None:
    model = begun(world)
    world.session.run(f"drop table {name_of(world)}")
    assert third(world, model, "flush", "flush", "build") == "NOT_BUILT_YET"


def test_without_the_memory_of_a_side_it_is_kept_from_the_source(world: World) -> None:
    model = begun(world)
    name = name_of(world)
    for one in memories(world):
        if one != name:
            world.session.run(f"drop table {one}")
    assert third(world, model, "build", "build", "flush") == "SIDE_UNREAD"
    world.add((12, "c", 11, 14))
    assert join_of(world, model, 15).found.relation
    run(world, model, 15)
    assert world.answers(columns="id, reply, answer") == sorted([*THIRD, (1, 11, 12, 14.0)])


def test_a_source_that_loses_rows_takes_it_along(world: World) -> None:
    model = begun(world, on_source_rewrite="deletes_ok")
    world.session.run(f"delete from {world.schema}.messages where id = 4")
    world.add((8, "b", 6, 11), (9, "c", 1, 11), (10, "c", 9, 12))
    assert not join_of(world, model, 13).found.relation
    run(world, model, 13)
    assert world.answers(columns="id, reply, answer") == [*SECOND, (1, 9, 10, 12.0)]
    for name in memories(world):
        columns = "id" if "l_id" not in columns_of(world, name) else "l_id"
        assert (4,) not in world.session.rows(f"select {columns} from {name}")


def test_rows_that_came_late_have_their_arrival(world: World) -> None:
    model = begun(world)
    world.add((16, "a", 5, 3), (17, "b", 4, 3))
    request = join_of(world, model, 12)
    assert request.found.relation, request.found.reason
    assert "_with_" in world.plan_rows(model, 12).rows.select
    run(world, model, 12)
    late = [(1, 5, 16, 10.000001)]
    assert world.answers(columns="id, reply, answer") == sorted([*SECOND, *late])
    world.add((18, "c", 17, 13), (19, "c", 1, 13), (19, "c", 1, 13), (20, "c", 19, 13))
    assert join_of(world, model, 14).found.relation
    run(world, model, 14)
    more = [(4, 17, 18, 13.0), (1, 19, 20, 13.0), (1, 19, 20, 13.0)]
    assert world.answers(columns="id, reply, answer") == sorted([*SECOND, *late, *more])


def test_both_ways_of_naming_two_are_one(world: World) -> None:
    model = begun(world)
    other = world.model(CHAIN, name="other", memories=[["R", "m"]])
    world.add((8, "b", 6, 11))
    mine, its = join_of(world, model, 12), join_of(world, other, 12)
    assert mine.wanted is not None
    assert its.wanted is not None
    assert mine.wanted.name == its.wanted.name
    assert its.found.relation


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (["m", "q"], "m and q are not joined where"),
        (["m", "x"], "x is no table that a memory can stand for"),
    ],
)
def test_what_is_not_joined_is_refused(world: World, pair: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        world.plan(world.model(CHAIN, memories=[pair]), 6)


def test_memories_are_compared_with_their_sources(world: World) -> None:
    model = begun(world)
    world.add((8, "b", 6, 11), (9, "c", 1, 11))
    compared = compare_memories(world.session, model, world.invocation(13))
    assert [(one.alias, one.rows, one.equal) for one in compared][:2] == [
        ("m", 4, True),
        ("r", 8, True),
    ]
    assert (compared[2].rows, compared[2].equal) == (4, True)


def test_a_memory_that_lies_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    model = world.model(CHAIN, memories=["m"])
    with monkeypatch.context() as patch:
        lie = f"select 7 as id, author, parent, ts from {world.schema}.messages where author = 'a'"
        patch.setattr(keep, "build", lambda session, wanted, _: create(session, wanted, lie))
        run(world, model, 6)
    world.recall = type(world.recall)()
    (one,) = compare_memories(world.session, model, world.invocation(7))
    assert (one.rows, one.wanted_rows, one.equal) == (2, 2, False)
