"""Small sources of a verified run are read once, into views that go with the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.killed import killed_at
from tests.spark.run_world import ALL, UNANSWERED, World, ids, question_of

from tapestry.errors import ExpectationFailed
from tapestry.runs.engine.session import ONLY_SQL, Capabilities, for_little
from tapestry.runs.kinds.continuous import query
from tapestry.runs.protocol import run
from tapestry.runs.query import holding
from tapestry.runs.query.holding import NOTHING_HELD
from tapestry.sql.facts import keys


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
    view, rows = (text.split()[3] for text in _texts(world, "CACHE LAZY TABLE"))
    made = next(text for text in world.session.texts if text.startswith("SELECT *"))
    reading = [text for text in world.session.texts if "VERSION AS OF 2" in text and made != text]
    assert view in next(text for text in world.session.texts if "AS `_broken`" in text)
    assert rows in _texts(world, "INSERT INTO")[-1]
    assert all("__late_" in text or "LIMIT" in text for text in reading)  # none for the answers
    assert _nothing_is_left(world)


def test_a_large_source_and_a_run_without_checks_are_not_held(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.plan_rows(world.model(ALL), 8).rows.holding == NOTHING_HELD
    checked = world.model(ALL, verify="full")
    assert len(world.plan_rows(checked, 8).rows.holding.views) == 1
    assert world.plan_rows(checked, 8).little
    monkeypatch.setattr(holding, "SMALL", -1)
    monkeypatch.setattr(query, "SMALL", -1)
    planned = world.plan_rows(checked, 8)
    assert planned.rows.holding.views == ()
    us = "unix_micros(`ts`)"
    stamped = {
        name: replace(scan, row_id=keys.stamped(scan.row_id, us))
        for name, scan in planned.rows.holding.scans.items()
    }
    assert stamped == question_of(planned).scans


@pytest.mark.parametrize(
    ("sql", "verify", "held"),
    [(ALL, "sample", False), (ALL, "full", True), (UNANSWERED, "sample", True)],
)
def test_a_table_of_which_every_statement_asks_a_narrow_part_is_held_where_it_is_smaller(
    world: World, sql: str, verify: str, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = world.model(sql, verify=verify)
    assert world.plan_rows(model, 8).rows.holding.selects, "the first run reads all of it"
    world.run(model, 8)
    world.add((4, "c", None, 9), (5, "d", None, 2))
    assert world.plan_rows(model, 30).rows.holding.selects, "it is smaller"
    monkeypatch.setattr(holding, "SMALL_ALONE", 0)
    assert bool(world.plan_rows(model, 30).rows.holding.selects) is held
    world.run(model, 30)
    assert ids(world.answers()) == ([1, 2, 3, 4, 5] if sql == ALL else [1, 3, 4, 5])
    assert _nothing_is_left(world)


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
    model = world.model(UNANSWERED, verify="full")
    world.run(model, 8)
    world.add((4, "c", None, 9), (5, "d", None, 2))
    with monkeypatch.context() as patched:
        patched.setattr(run, "release", lambda *_: None)  # as a process that is killed
        with killed_at(place):
            world.run(model, 30)
    left = _views(world)  # of a process that lives on; they have names of their own
    assert left
    world.run(model, 30)
    assert ids(world.answers()) == [1, 3, 4, 5]
    assert _views(world) == left
    for view in left:
        world.session.run(f"DROP VIEW `{view}`")
    assert _nothing_is_left(world)


def test_what_is_kept_is_read_by_statements_with_ctes_too(world: World) -> None:
    """With no setting for a while: names of CTEs inside of others mean what they always do."""
    session = world.session
    nested = (
        "WITH a AS (SELECT 1 AS id) SELECT id FROM (WITH a AS (SELECT 2 AS id) SELECT id FROM a)"
    )
    before = session.rows("SET")
    holding.make(session, "`__tapestry_kept`", nested)
    try:
        assert session.rows("SET") == before
        reads = "WITH other AS (SELECT 2 AS id) SELECT * FROM other JOIN __tapestry_kept USING (id)"
        ((plan,),) = session.rows(f"EXPLAIN {reads}")
        assert "InMemoryRelation" in plan
        assert session.rows(reads) == [(2,)]
    finally:
        session.run("DROP VIEW `__tapestry_kept`")


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


NOT_FOUR = {"name": "not_four", "expect": "id <> 4", "on_violation": "drop"}


@pytest.mark.parametrize("memory", [True, False])
def test_new_rows_stand_in_memory_only_where_that_keeps_them(
    world: World, memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = world.session
    monkeypatch.setattr(session, "can", replace(session.can, keeps_memory=lambda: memory))
    model = world.model(ALL, verify="full", expectations=[NOT_FOUR])
    world.run(model, 8)
    assert _texts(world, "CREATE OR REPLACE TABLE")  # all of history goes to a table
    world.add((4, "c", None, 9), (5, "d", None, 2))
    world.session.texts.clear()
    assert world.run(model, 30).rejected_rows == 1
    assert ids(world.answers()) == [1, 2, 3, 5]
    assert ids(world.session.rows(f"select id from {world.schema}.target__rejected")) == [4]
    assert bool(_texts(world, "CREATE OR REPLACE TABLE")) is not memory
    inserts = [text for text in _texts(world, "INSERT INTO") if "target` WITH" in text]
    assert ["FROM `__tapestry_" in text for text in inserts] == [memory]
    assert not world.session.rows(f"SHOW TABLES IN {world.schema} LIKE 'target__staged'")
    assert _nothing_is_left(world)


def test_refused_rows_are_written_down_and_removed_once_they_are_published(world: World) -> None:
    staged = f"select id from {world.schema}.target__staged"
    world.run(world.model(ALL), 8)
    world.add((4, "c", None, 9), (5, "d", None, 10))
    refusing = world.model(ALL, expectations=[{**NOT_FOUR, "on_violation": "fail"}])
    for t in (30, 31):
        with pytest.raises(ExpectationFailed, match="target__staged"):
            world.run(refusing, t)
        assert ids(world.session.rows(staged)) == [4, 5]
        assert _nothing_is_left(world)
    world.run(world.model(ALL, expectations=[{**NOT_FOUR, "on_violation": "warn"}]), 32)
    assert ids(world.answers()) == [1, 2, 3, 4, 5]
    assert not world.session.rows(f"SHOW TABLES IN {world.schema} LIKE 'target__staged'")


def test_a_condition_that_cannot_be_computed_in_memory_is_found(world: World) -> None:
    broken = {"name": "broken", "expect": "1 / (id - 4) <> 7 or raise_error('no') is null"}
    world.run(world.model(ALL), 8)
    world.add((4, "c", None, 9), (5, "d", None, 10))
    outcome = world.run(world.model(ALL, expectations=[NOT_FOUR, broken]), 30)
    assert [(r.name, r.status, r.violations) for r in outcome.results] == [
        ("not_four", "warn", 1),
        ("broken", "error", 0),
    ]
    assert ids(world.answers()) == [1, 2, 3, 5]
    assert _nothing_is_left(world)


def test_a_session_is_told_of_little_data_only() -> None:
    told = []

    @contextmanager
    def heed() -> Iterator[None]:
        told.append(1)
        yield

    session: Any = SimpleNamespace(can=Capabilities(for_little=heed))
    with for_little(session, True), for_little(session, False):
        assert told == [1]
    with for_little(cast(Any, SimpleNamespace(can=ONLY_SQL)), True):
        pass
