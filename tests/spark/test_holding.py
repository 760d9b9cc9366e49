"""Small sources of a verified run are read once, into views that go with the run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
from tests.spark.run_world import ALL, UNANSWERED, World, ids

from tapestry.errors import ExpectationFailed
from tapestry.runs import holding, run
from tapestry.runs.holding import NOTHING_HELD
from tapestry.runs.session import for_little


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema).create()


def _texts(world: World, word: str) -> list[str]:
    return [text for text in world.session.texts if text.startswith(word)]


def _views(world: World) -> list[str]:
    names = [row[1] for row in world.session.rows("SHOW VIEWS")]
    return [name for name in names if name.startswith("__tapestry")]


def _nothing_is_left(world: World) -> bool:
    views = _views(world)
    cached = world.session.spark._jsparkSession.sharedState().cacheManager()
    return not views and bool(cached.isEmpty())


def test_a_small_source_is_read_once_and_nothing_is_left(world: World) -> None:
    model = world.model(UNANSWERED, verify="full")
    world.run(model, 8)
    world.add((4, "c", None, 9), (5, "d", None, 2))  # the second is late
    world.session.texts.clear()
    world.run(model, 30)
    assert ids(world.answers()) == [1, 3, 4, 5]
    (made,) = _texts(world, "CREATE OR REPLACE TEMPORARY VIEW")
    view = made.split()[5]
    reading = [text for text in world.session.texts if "VERSION AS OF 2" in text and made != text]
    assert any(view in text for text in _texts(world, "CREATE OR REPLACE TABLE"))
    assert all("__late_" in text or "LIMIT" in text for text in reading)  # none for the answers
    assert _nothing_is_left(world)


def test_a_large_source_and_a_run_without_checks_are_not_held(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.plan(world.model(ALL), 8).holding == NOTHING_HELD
    checked = world.model(ALL, verify="full")
    assert len(world.plan(checked, 8).holding.views) == 1
    assert world.plan(checked, 8).little
    monkeypatch.setattr(holding, "SMALL", -1)
    planned = world.plan(checked, 8)
    assert (planned.holding.views, planned.holding.statements) == ((), ())
    assert planned.question is not None
    assert planned.holding.scans == planned.question.scans


def test_a_refused_run_leaves_no_view_and_the_next_one_holds_again(world: World) -> None:
    wanted = [{"name": "known", "expect": "author = 'a'", "on_violation": "fail"}]
    with pytest.raises(ExpectationFailed):
        world.run(world.model(ALL, verify="full", expectations=wanted), 8)
    assert _nothing_is_left(world)
    world.run(world.model(ALL, verify="full"), 9)
    assert ids(world.answers()) == [1, 2, 3]
    assert _nothing_is_left(world)


@pytest.mark.parametrize("place", ["before_written", "staged", "ready"])
def test_a_run_killed_with_its_views_there_is_carried_out_again(
    world: World, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def point(name: str) -> None:
        if name == place:
            raise Killed

    model = world.model(UNANSWERED, verify="full")
    world.run(model, 8)
    world.add((4, "c", None, 9), (5, "d", None, 2))
    with monkeypatch.context() as patched:
        patched.setattr(run, "point", point)
        patched.setattr(run, "release", lambda *_: None)  # as a process that is killed
        with pytest.raises(Killed):
            world.run(model, 30)
    assert not _nothing_is_left(world)
    world.run(model, 30)
    assert ids(world.answers()) == [1, 3, 4, 5]
    assert _nothing_is_left(world)


def test_a_view_that_cannot_be_dropped_harms_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session, plain = world.session, world.session.run
    with monkeypatch.context() as patched:
        patched.setattr(session, "run", lambda sql: 1 / 0 if "DROP VIEW" in sql else plain(sql))
        assert world.run(world.model(ALL, verify="full"), 8).rows == 3
    assert "was not dropped" in caplog.text
    for view in _views(world):
        session.run(f"DROP VIEW `{view}`")


def test_a_session_is_told_of_little_data_only() -> None:
    class Heeding:
        told = 0

        @contextmanager
        def for_little(self) -> Any:
            self.told += 1
            yield

    session: Any = Heeding()
    with for_little(session, True), for_little(session, False):
        assert session.told == 1
    with for_little(object(), True):  # type: ignore[arg-type]
        pass
