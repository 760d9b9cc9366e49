"""A run under other settings than its table was grown with: a changed query, and known as one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import ALL, World, ids

from tapestry.errors import QueryChanged, TapestryError
from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.continuous.after.preview import preview
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome

STRICT = ("spark.sql.ansi.enabled = true",)


def _run(world: World, model: Model, seconds: float, settings: tuple[str, ...] = ()) -> Outcome:
    invocation = world.invocation(seconds)
    invocation.settings = settings
    return execute(world.session, prepare(world.session, model, invocation), invocation)


def _forget_settings(world: World) -> None:
    """The state as an earlier version wrote it."""
    world.session.run(
        f"UPDATE {world.schema}.tapestry_state"
        r" SET canonical = regexp_replace(canonical, '\\n-- settings: [^\\n]*', '')"
    )
    world.recall = Recall()


def _settings(world: World) -> list[str]:
    rows = world.session.rows(
        f"SELECT regexp_extract(canonical, '-- settings: (.*)', 1)"
        f" FROM {world.schema}.tapestry_state ORDER BY n"
    )
    return [str(row[0]) for row in rows]


def test_other_settings_are_a_changed_query(world: World) -> None:
    model = world.model(ALL)
    _run(world, model, 8)
    world.add((4, "c", None, 9))
    with pytest.raises(QueryChanged, match=r"as usual .*ansi\.enabled = true") as changed:
        _run(world, model, 20, STRICT)
    assert "on_query_change" in changed.value.hint
    assert "the query changed" in preview(world.session, model, _strict(world, 20)).notes[0]
    with pytest.raises(QueryChanged, match="was grown with as usual"):
        audit(world.session, model, _strict(world, 20), "full")
    assert _run(world, model, 20).rows == 1


def _strict(world: World, seconds: float) -> Any:
    invocation = world.invocation(seconds)
    invocation.settings = STRICT
    return invocation


def test_the_change_can_be_meant(world: World) -> None:
    model = world.model(ALL, on_query_change="continue")
    _run(world, model, 8)
    world.add((4, "c", None, 9))
    assert _run(world, model, 20, STRICT).rows == 1
    assert _settings(world) == ["as usual", *STRICT]
    world.add((5, "c", None, 21))
    assert _run(world, world.model(ALL), 30, STRICT).rows == 1
    (found,) = {r.status for r in audit(world.session, model, _strict(world, 30), "full").results}
    assert found == "pass"


@pytest.mark.parametrize("settings", [(), STRICT])
def test_a_table_of_before_there_was_such_a_record_goes_on(
    world: World, settings: tuple[str, ...]
) -> None:
    model = world.model(ALL)
    _run(world, model, 8)
    _forget_settings(world)
    assert _settings(world) == [""]
    world.add((4, "c", None, 9))
    assert _run(world, model, 20, settings).rows == 1
    assert _settings(world) == ["", settings[0] if settings else "as usual"]


def test_a_run_that_crashed_is_not_executed_under_other_settings(world: World) -> None:
    """It published nothing: it is closed, and its window run anew if the change is meant."""

    model = world.model(ALL)
    _run(world, model, 8)
    world.add((4, "c", None, 9))
    with killed_at("before_written"):
        _run(world, model, 20)
    with pytest.raises(TapestryError, match="not the query that its table was grown with"):
        _run(world, model, 25, STRICT)
    assert _run(world, world.model(ALL, on_query_change="continue"), 25, STRICT).rows == 1
    assert ids(world.answers()) == [1, 2, 3, 4]
