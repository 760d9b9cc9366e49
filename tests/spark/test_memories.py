"""Memories of sources: what a run reads in their place, and what becomes of it (network, 2)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World, delete_folder

from tapestry.errors import ConfigurationError
from tapestry.runs.memories.keep import Deed, keep_memories
from tapestry.runs.model.model import Model
from tapestry.runs.run.run import Outcome, execute, prepare

BUSY = (
    "select m.id, r.id as reply from {s}.messages m join {s}.messages r on r.parent = m.id"
    " where m.author = 'a' and r.id > 2"
)
"""The rows of m that matter are those of one author."""


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema).create()


def run(world: World, model: Model, seconds: float) -> tuple[Outcome, tuple[Deed, ...]]:
    """One invocation, with what is done to memories at its end."""
    invocation = world.invocation(seconds)
    outcome = execute(world.session, prepare(world.session, model, invocation), invocation)
    return outcome, keep_memories(world.session, invocation.wishes)


def did(deeds: tuple[Deed, ...]) -> list[str]:
    return [deed.action for deed in deeds]


def test_it_is_built_flushed_and_read(world: World) -> None:
    model = world.model(BUSY, memories=["m"], verify="full")
    assert did(run(world, model, 6)[1]) == ["build"]
    assert world.answers(columns="id, reply") == []
    world.add((4, "a", None, 7), (5, "b", 1, 8), (6, "b", 4, 8), (7, "a", 2, 8))
    planned = world.plan_rows(model, 10)
    (wish,) = [wish for wish in planned.wishes if wish.found.relation]
    assert wish.use.conditions == ("`author` = 'a'",)
    assert planned.rows.select.count("tapestry_memory__") == 1
    assert did(run(world, model, 10)[1]) == ["flush"]
    assert world.answers(columns="id, reply") == [(1, 5, 8.0), (4, 6, 8.0)]
    world.add((8, "b", 1, 11))
    run(world, model, 12)
    assert world.answers(columns="id, reply") == [(1, 5, 8.0), (1, 8, 11.0), (4, 6, 8.0)]
    assert wish.wanted is not None
    held = world.session.rows(f"select id from {wish.wanted.name}")
    assert sorted(held) == [(1,), (3,), (4,), (7,)]
