"""What `tapestry explain` says of a model is what its run does: taken, refused, warned of."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World

from tapestry.cli.explanation import explain_model
from tapestry.errors import ConfigurationError, QueryChanged, Refusal

QUERIES: dict[str, dict[str, Any]] = {
    "select id from {s}.messages": {},
    "select id from {s}.messages where hour(now()) = 9": {},
    "select count(*) as n from {s}.messages": {},
    "select id from {s}.nothing": {},
    "select id as _t_at from {s}.messages": {"verify": "full"},
    "select id as _t_at, id from {s}.messages": {"verify": "off"},
    "select id, map('a', id) as m from {s}.messages": {"verify": "full"},
    "select id, nothing_like(id) as x from {s}.messages": {},
    "select id, try_element_at(array(id), 'a', 2) as x from {s}.messages": {},
    "select id, substring(author) as x from {s}.messages": {},
    "select m.id from {s}.messages m, {s}.messages r": {"assume": ["r.ts >= m.nothing"]},
    "select id from {s}.messages where now() > ts": {
        "expectations": [{"name": "there", "expect": "nothing is not null"}]
    },
}


def test_what_a_run_refuses_explain_refuses(world: World) -> None:
    for number, (sql, config) in enumerate(QUERIES.items()):
        model = world.model(sql, f"m{number}", **config)
        run, explained = _of_run(world, model), _of_explain(world, model)
        assert explained == run, sql


def _of_run(world: World, model: Any) -> tuple[str, tuple[str, ...]]:
    try:
        return "taken", world.plan_rows(model, 100).told.warnings
    except (Refusal, ConfigurationError) as error:
        return type(error).__name__ + getattr(error, "code", ""), ()
    except Exception:
        return "Spark", ()


def _of_explain(world: World, model: Any) -> tuple[str, tuple[str, ...]]:
    try:
        explained = explain_model(world.session, model, world.invocation(100), stored=True)
    except ConfigurationError as error:
        return type(error).__name__, ()
    except Exception:
        return "Spark", ()
    if explained.refusal is not None:
        return "Refusal" + explained.refusal.code, ()
    assert explained.looked_at is not None
    return "taken", explained.looked_at.notes


@pytest.mark.parametrize(
    ("sql", "config"),
    [
        ("select id from {s}.messages where id > 1", {}),
        ("select id, author from {s}.messages", {"on_query_change": "continue"}),
        (
            "select cast(id as string) as id from {s}.messages",
            {"on_query_change": "continue"},
        ),
    ],
)
def test_a_changed_query_that_stops_a_run(world: World, sql: str, config: Any) -> None:
    world.run(world.model("select id from {s}.messages"), 100)
    model = world.model(sql, **config)
    with pytest.raises(QueryChanged) as stopped:
        world.plan(model, 200)
    explained = explain_model(world.session, model, world.invocation(200), stored=True)
    assert explained.looked_at is not None
    notes = " ".join(explained.looked_at.notes)
    assert "the next run would stop" in notes
    if config:
        assert stopped.value.reason in notes


IMPLIED = "r.parent >= 2"


def test_what_a_run_infers_is_what_explain_shows(world: World) -> None:
    """`infer: off` reaches both, and the table goes on with either."""
    sql = "select m.id from {s}.messages m, {s}.messages r where m.id > 1 and r.parent = m.id"
    for name, config, wanted in (("on", {}, True), ("off", {"infer": False}, False)):
        model = world.model(sql, name, **config)
        explained = explain_model(world.session, model, world.invocation(10), stored=True)
        assert any(IMPLIED in step.sql for step in explained.steps) is wanted
        assert (IMPLIED in world.plan_rows(model, 10).rows.select) is wanted
        world.run(model, 10)
    world.add((4, "d", 3, 20))
    for name, config, wanted in (("off", {}, True), ("on", {"infer": "off"}, False)):
        model = world.model(sql, name, **config)
        assert (IMPLIED in world.plan_rows(model, 100).rows.select) is wanted
        world.run(model, 100)
    assert world.answers("on") == world.answers("off") == [(2, 5.0), (3, 20.0)]
