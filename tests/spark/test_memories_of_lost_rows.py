"""Rows that a source has lost are in no copy of it when a run that found that out is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.spark.run_world import World
from tests.spark.test_memories import BUSY, did, memories, run

from tapestry.runs.kinds.continuous.after.compare_memories import compare_memories
from tapestry.runs.memories.survey import collect

LOSES = {"on_source_rewrite": "deletes_ok"}
UNANSWERED_REPLY = (
    "select m.id, r.id as reply from {s}.messages m join {s}.messages r on r.parent = m.id"
    " where m.author = 'a' and not exists (select 1 from {s}.messages x where x.parent = r.id)"
)
"""A row that is gone may have hidden an answer: its query is another one until it ends."""


@pytest.fixture
def world(session: Any, schema: str) -> Iterator[World]:
    world = World(session, schema).create()
    world.add((4, "b", 1, 5), (5, "b", 3, 5), (6, "c", 4, 5))
    yield world
    world.release()


def copies_of(world: World, number: int) -> list[str]:
    """The memories that hold the message."""
    found = []
    for name in memories(world):
        columns = {row[0] for row in world.session.rows(f"describe table {name}")}
        mine = " or ".join(f"{c} = {number}" for c in ("id", "l_id", "r_id") if c in columns)
        if world.session.rows(f"select 1 from {name} where {mine} limit 1"):
            found.append(name)
    return found


def lose(world: World, number: int) -> None:
    world.session.run(f"delete from {world.schema}.messages where id = {number}")


def test_a_stored_join_of_a_query_that_looks_back(world: World) -> None:
    """The query of such a run joins no pair; it was refused, and the pairs were kept."""
    model = world.model(UNANSWERED_REPLY, memories=[["m", "r"]], **LOSES)
    assert did(run(world, model, 6)[1]) == ["build"] * 3
    assert world.answers(columns="id, reply") == [(3, 5, 5.0)]
    assert len(copies_of(world, 5)) == 2
    lose(world, 5)
    lose(world, 6)
    world.add((7, "b", 3, 7))
    assert did(run(world, model, 8)[1]) == ["drop", "build"] * 3
    assert copies_of(world, 5) == []
    found = [(1, 4, 6.000001), (3, 5, 5.0), (3, 7, 7.0)]
    assert world.answers(columns="id, reply") == found
    world.add((8, "b", 3, 9))
    run(world, model, 10)
    assert world.answers(columns="id, reply") == [*found, (3, 8, 9.0)]


def test_one_whose_conditions_no_model_has_any_more(world: World) -> None:
    run(world, world.model(BUSY, memories=["m", ["m", "r"]], **LOSES), 6)
    more = {**LOSES, "on_query_change": "continue"}
    model = world.model(BUSY.replace("= 'a'", "<> 'b'"), memories=["m"], **more)
    run(world, model, 7)
    assert len(copies_of(world, 1)) == 3
    lose(world, 1)
    assert did(run(world, model, 8)[1]) == ["drop", "build"]
    assert copies_of(world, 1) == []


def test_one_that_is_switched_off_is_garbage(world: World) -> None:
    run(world, world.model(BUSY, memories=["m", ["m", "r"]], **LOSES), 6)
    assert collect(world.session, world.schema) == ()
    lose(world, 1)
    run(world, world.model(BUSY, memories="off", **LOSES), 8)
    assert len(collect(world.session, world.schema)) == 3
    assert memories(world) == []


def test_rows_without_an_arrival_are_not_compared(world: World) -> None:
    """Nobody ever sees them: what came in since is read without them, and a build has them."""
    model = world.model(BUSY, memories=["m", ["m", "r"]])
    row = f"select 7, 'a', 1, timestamp(null) union all select 8, 'a', 1, {_ts(7)}"
    world.session.run(f"insert into {world.schema}.messages {row}")
    run(world, model, 8)
    world.session.run(f"insert into {world.schema}.messages {row.replace('8', '9')}")
    world.recall = type(world.recall)()
    compared = compare_memories(world.session, model, world.invocation(9))
    assert [one.equal for one in compared] == [True] * 3


def test_both_arms_of_a_union_read_their_pair(world: World) -> None:
    sql = f"select m.id, 0 as reply from {{s}}.messages m where m.id > 5 union all {BUSY}"
    model = world.model(sql, memories=[["m", "r"]], verify="full")
    run(world, model, 6)
    world.add((7, "b", 3, 7))
    planned = world.plan_rows(model, 8)
    assert [request.told[0] for request in planned.requests if request.found.relation][-1] in (
        "m, r",
        "r, m",
    )
    run(world, model, 8)
    wanted = [(1, 4, 5.0), (3, 5, 5.0), (3, 7, 7.0), (6, 0, 5.0), (7, 0, 7.0)]
    assert world.answers(columns="id, reply") == wanted


def _ts(seconds: int) -> str:
    return f"timestamp'2026-01-01 00:00:{seconds:02d}'"
