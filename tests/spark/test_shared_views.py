"""What models of one invocation read together is computed once, and goes with the invocation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.spark.run_world import World
from tests.spark.test_memories import BUSY, MORE, SECOND, THIRD

from tapestry.runs.context.shared_views import SCHEMA, SharedViews
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.memories.find import InPlace
from tapestry.runs.memories.keep import keep_memories
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def two(world: World) -> list[Model]:
    """Models that read one memory, which is built."""
    names = {"memories": ["m"], "verify": "full"}
    models = [world.model(BUSY, name, **names) for name in ("target", "other")]
    invoke(world, models, 6)
    world.add(*MORE)
    return models


def invoke(world: World, models: list[Model], seconds: float) -> list[str]:
    """One invocation of all of them; what was done to memories."""
    invocation = world.invocation(seconds)
    try:
        for model in models:
            execute(world.session, prepare(world.session, model, invocation), invocation)
        return [d.action for d in keep_memories(world.session, invocation.asked.requests, "test")]
    finally:
        invocation.shared.release(world.session)


def found(world: World) -> list[list[tuple[Any, ...]]]:
    return [world.answers(name, "id, reply") for name in ("target", "other")]


def made(world: World) -> list[str]:
    """The global views that were kept in memory."""
    texts = [text.split()[-1] for text in world.session.texts if text.startswith("CACHE LAZY")]
    return [text for text in texts if text.startswith(SCHEMA)]


def test_what_came_in_since_a_memory_is_read_once_by_models_and_flush(world: World) -> None:
    models = two(world)
    world.session.texts.clear()
    assert invoke(world, models, 10) == ["flush"]
    (view,) = made(world)
    readers = [text for text in world.session.texts if f"FROM {view}" in text]
    assert len([text for text in readers if text.startswith("INSERT")]) == 1  # the flush
    assert len(readers) >= 3
    assert found(world) == [SECOND, SECOND]
    world.add((8, "b", 1, 11))
    invoke(world, models, 12)
    assert found(world) == [THIRD, THIRD]


@pytest.mark.parametrize("what", ["CACHE LAZY TABLE global_temp", "create"])
def test_without_the_view_what_came_is_read_from_the_source(
    world: World, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = two(world)
    session, plain = world.session, world.session.run
    if what == "create":
        session.can = replace(session.can, keeps_memory=lambda: False)
    else:
        monkeypatch.setattr(session, "run", lambda sql: 1 / 0 if what in sql else plain(sql))
    assert invoke(world, models, 10) == ["flush"]
    assert found(world) == [SECOND, SECOND]


def test_much_that_came_in_is_not_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    models = two(world)
    monkeypatch.setattr(InPlace, "new_bytes", lambda *_: 2.0**40)
    world.session.texts.clear()
    assert invoke(world, models, 10) == ["flush"]
    assert made(world) == []
    assert found(world) == [SECOND, SECOND]


def test_threads_make_one_view_and_each_session_reads_it(world: World) -> None:
    views, session = SharedViews(), world.session
    select = f"SELECT id FROM {world.schema}.messages VERSION AS OF 1"
    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(lambda _: views.shared_view(session, "key", select), range(8)))
    (view,) = names
    other = session.spark.newSession()
    plan = other.sql(f"EXPLAIN SELECT * FROM {view}").collect()[0][0]
    assert "InMemoryRelation" in plan
    assert sorted(row[0] for row in other.sql(f"SELECT * FROM {view}").collect()) == [1, 2, 3]
    again = SharedViews()
    assert again.shared_view(session, "key", select) not in ("", view)
    views.release(session)
    assert [row[1] for row in session.rows(f"SHOW VIEWS IN {SCHEMA}")] != []
    again.release(session)


def test_after_the_end_nothing_is_made(world: World) -> None:
    views = SharedViews()
    views.release(world.session)
    assert views.shared_view(world.session, "key", "SELECT 1 AS one") == ""


def test_a_run_that_fails_leaves_nothing(world: World) -> None:
    models = two(world)
    wrong = [{"name": "known", "expect": "id > 100", "on_violation": "fail"}]
    bad = world.model(BUSY, memories=["m"], expectations=wrong)
    with pytest.raises(Exception, match="known"):
        invoke(world, [bad, *models], 10)
    assert invoke(world, models, 11) == ["flush"]
    assert found(world) == [SECOND, SECOND]
