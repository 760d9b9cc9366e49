"""New rows that models of one invocation read together; runs that find nothing leave no trace."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.spark.conftest import SparkSql
from tests.spark.run_world import World, literal
from tests.spark.test_shared_views import made

from tapestry.runs.context.shared_views import SCHEMA
from tapestry.runs.kinds.continuous import append
from tapestry.runs.kinds.continuous.window import shared_window
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome

LOUD = "select m.id, m.author from {s}.messages m where m.parent > 0"
OF_A = "select m.id, m.author from {s}.messages m where m.author = 'a'"
OF_Z = "select m.id, m.author from {s}.messages m where m.author = 'z'"


pytestmark = pytest.mark.usefixtures("nothing_is_left")


def three(world: World) -> list[Model]:
    """Models over one stream after a first run; the last one has never found anything."""
    models = [world.model(q, n) for q, n in ((LOUD, "loud"), (OF_A, "of_a"), (OF_Z, "of_z"))]
    invoke(world, models, 6)
    return models


def invoke(world: World, models: list[Model], seconds: float, threads: int = 1) -> list[Outcome]:
    invocation = world.invocation(seconds)

    def run(model: Model) -> Outcome:
        session = SparkSql(world.session.spark.newSession()) if threads > 1 else world.session
        return execute(session, prepare(session, model, invocation), invocation)

    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(run, models))
    finally:
        invocation.shared.release(world.session)


def actions(outcomes: list[Outcome]) -> list[str]:
    return [outcome.action for outcome in outcomes]


@pytest.mark.parametrize("threads", [1, 3])
def test_new_rows_are_read_once_and_nothing_found_leaves_no_trace(
    world: World, threads: int
) -> None:
    models = three(world)
    world.add((4, "a", 2, 7), (5, "b", None, 8))
    states = world.states("model, n")
    world.session.texts.clear()
    did = invoke(world, models, 10, threads)
    assert actions(did) == ["append", "append", "nothing"]
    if threads == 1:
        assert len(made(world)) == 1
    assert world.answers("loud") == [(3, 5.0), (4, 7.0)]
    assert world.answers("of_a") == [(1, 0.0), (3, 5.0), (4, 7.0)]
    assert world.answers("of_z") == []
    assert len(world.states("model, n")) == len(states) + 2
    assert world.versions("of_z") == 1


def test_a_window_that_was_left_open_is_covered_later(world: World) -> None:
    """The others have gone on meanwhile: their windows are parts of the one that is read."""
    models = three(world)
    for second in range(3):
        world.add((10 + second, "a", 1, 7 + second))
        world.session.texts.clear()
        assert actions(invoke(world, models, 7 + second))[2] == "nothing"
        assert len(made(world)) == 1 + (second > 0)  # the longest window is asked for last
    world.add((20, "z", None, 11), (21, "z", None, 8))  # 21 has been missing, but nobody looked
    invoke(world, list(reversed(models)), 12)
    assert world.answers("of_z") == [(20, 11.0), (21, 8.0)]
    assert world.answers("loud") == [(3, 5.0), (10, 7.0), (11, 8.0), (12, 9.0)]
    assert len(world.states("n")) == 3 + 6 + 3  # to the others it is late, which they note


def test_what_was_looked_at_is_not_looked_at_again(world: World) -> None:
    models = three(world)
    world.add((4, "a", None, 7))
    invoke(world, models, 8)
    assert actions(invoke(world, models, 9)) == ["nothing"] * 3  # asks when time brings something
    world.session.texts.clear()
    assert actions(invoke(world, models, 9)) == ["nothing"] * 3
    assert made(world) == []
    assert not [text for text in world.session.texts if "VERSION AS OF" in text]
    world.recall = type(world.recall)()  # another process looks once
    assert actions(invoke(world, models, 9)) == ["nothing"] * 3
    assert world.versions("of_z") == 1


def test_late_rows_are_read_where_they_are_kept(world: World) -> None:
    models = three(world)
    world.add((4, "z", None, 3), (5, "a", 1, 9))
    did = invoke(world, models, 10)
    assert actions(did) == ["append"] * 3
    assert world.answers("of_z") == [(4, 6.000001)]
    assert world.answers("loud") == [(3, 5.0), (5, 9.0)]


@pytest.mark.parametrize("bound", ["commits", "rows", "time", "bytes", "feeds"])
def test_a_trace_is_left_before_a_window_gets_long(
    world: World, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = three(world)
    if bound == "feeds":
        models = [replace(model, feeds=True) for model in models]
    elif bound == "time":
        monkeypatch.setattr(append, "LONGEST", timedelta(seconds=2))
    else:
        name = {"commits": "MOST_COMMITS", "rows": "MOST_ROWS", "bytes": "SMALL"}[bound]
        monkeypatch.setattr(shared_window, name, 0)
    world.add((4, "a", None, 7))
    assert actions(invoke(world, models, 8)) == ["append"] * 3
    assert world.answers("of_z") == []
    assert world.versions("of_z") == 2


@pytest.mark.parametrize(
    "config", [{"verify": "full"}, {"expectations": [{"name": "known", "expect": "id > 0"}]}]
)
def test_what_is_checked_leaves_a_trace(world: World, config: dict[str, Any]) -> None:
    model = world.model(OF_Z, "of_z", **config)
    world.run(model, 6)
    world.add((4, "a", None, 7))
    assert world.run(model, 8).action == "append"


def test_without_memory_all_is_as_it_was(world: World) -> None:
    world.session.can = replace(world.session.can, keeps_memory=lambda: False)
    models = three(world)
    world.add((4, "a", 2, 7))
    assert actions(invoke(world, models, 8)) == ["append"] * 3
    assert made(world) == []


def test_a_view_that_cannot_be_made_is_done_without(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = three(world)
    world.add((4, "a", 2, 7))
    session, plain, word = world.session, world.session.run, f"CACHE LAZY TABLE {SCHEMA}"
    monkeypatch.setattr(session, "run", lambda sql: 1 / 0 if word in sql else plain(sql))
    assert actions(invoke(world, models, 8)) == ["append"] * 3
    assert world.answers("loud") == [(3, 5.0), (4, 7.0)]


def test_rows_that_came_late_to_one_source_join_old_ones_of_another(world: World) -> None:
    """In time a reply comes after its message, and a run asks for new replies only."""
    replies = f"{world.schema}.replies"
    world.session.run(f"create table {replies} (parent int, ts timestamp) using delta")
    world.session.run(f"insert into {replies} values (7, {literal(5)})")
    model = world.model(
        "select m.id, m.author from {s}.messages m"
        " join {s}.replies r on r.parent = m.id and r.ts >= m.ts"
    )
    model = replace(model, arrivals={**model.arrivals, replies: ("ts",)})
    invoke(world, [model], 6)
    world.add((7, "a", None, 3))
    world.session.run(f"insert into {replies} values (8, {literal(8)})")
    invoke(world, [model], 10)
    assert world.answers() == [(7, 6.000001)]
