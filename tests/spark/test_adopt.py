"""Adopt: a hand-made table compared with its query, and the run that takes it over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.run_world import UNANSWERED, World, at, literal

from tapestry.errors import ConfigurationError, StateMissing
from tapestry.runs.kinds.registry import kind_called
from tapestry.runs.protocol.adoption import compare

CONTINUOUS = kind_called("continuous")
MISSED = {"id": "3", "author": "a"}


def hand_made(world: World, *rows: tuple[int, str, float]) -> None:
    """A table as an incremental model leaves it: columns in another order, one more of its own."""
    name = f"{world.schema}.target"
    world.session.run(
        f"create table {name} (loaded_at timestamp, author string, id bigint) using delta"
    )
    for i, author, loaded in rows:
        world.session.run(f"insert into {name} values ({literal(loaded)}, '{author}', {i})")


def test_missing_and_extra(world: World) -> None:
    hand_made(world, (1, "a", 12), (1, "a", 13), (9, "x", 14))
    model = world.model(UNANSWERED)
    with pytest.raises(StateMissing, match="no run of this model made"):
        world.run(model, 20)
    found = compare(world.session, CONTINUOUS, model, world.invocation(20), "loaded_at")
    assert (found.rows, found.answers, found.version) == (3, 2, 3)
    assert (found.missing.rows, found.missing.examples) == (1, (MISSED,))
    assert found.missing_from == at(15)
    assert found.extra.rows == 2  # one of the two, and a row that is no answer
    assert [row["id"] for row in found.extra.examples] == ["1", "9"]
    assert (found.early, found.late) == (0, 3.0)
    assert not found.same
    assert world.versions() == 4  # nothing was written
    # What `tapestry adopt` lets dbt do then.
    world.run(model, 20, full_refresh=True)
    assert world.answers() == [(1, 10.0), (3, 15.0)]
    old = world.session.rows(f"select id from {world.schema}.target version as of {found.version}")
    assert sorted(i for (i,) in old) == [1, 1, 9]
    world.add((4, "c", None, 21))
    world.run(model, 40)
    assert world.answers() == [(1, 10.0), (3, 15.0), (4, 31.0)]


def test_a_right_table(world: World) -> None:
    hand_made(world, (1, "a", 9), (3, "a", 16))
    found = compare(
        world.session, CONTINUOUS, world.model(UNANSWERED), world.invocation(20), "loaded_at"
    )
    assert found.same
    assert (found.early, found.late) == (1, 1.0)
    found = compare(world.session, CONTINUOUS, world.model(UNANSWERED), world.invocation(20))
    assert (found.early, found.late, found.other_columns) == (None, None, ("loaded_at",))


def test_what_cannot_be_adopted(world: World) -> None:
    model = world.model(UNANSWERED)
    with pytest.raises(ConfigurationError, match="no table"):
        compare(world.session, CONTINUOUS, model, world.invocation(20))
    hand_made(world)
    renamed = replace(model, sql=model.sql.replace("m.author", "m.author as autor"))
    with pytest.raises(ConfigurationError, match="has no column autor") as raised:
        compare(world.session, CONTINUOUS, renamed, world.invocation(20))
    assert "did you mean author?" in raised.value.hint
    with pytest.raises(ConfigurationError, match="has no column loaded"):
        compare(world.session, CONTINUOUS, model, world.invocation(20), "loaded")
    world.session.run(f"drop table {world.schema}.target")
    world.run(model, 20)
    with pytest.raises(ConfigurationError, match="already, up to 2026-01-01 00:00:20"):
        compare(world.session, CONTINUOUS, model, world.invocation(30))
