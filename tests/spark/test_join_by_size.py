"""A run over large tables joins the smaller one first, and asks no more for that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.spark.run_world import Counting, World

from tapestry.cli.explanation import Explanation, explain_model
from tapestry.errors import ConfigurationError
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model

QUERY = (
    "select m.id, e.id as e, s.id as s from {s}.messages m, {s}.events e, {s}.shops s"
    " where e.parent = m.id and s.id = m.parent"
)


@pytest.fixture
def world(session: Session, schema: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """Tables that count as large: events of some size, shops of a row."""
    monkeypatch.setattr("tapestry.runs.kinds.continuous.query.SMALL", 0)
    monkeypatch.setattr("tapestry.runs.kinds.continuous.window.measured_first.SPARK_KNOWS", 0)
    made = World(session, schema).create()
    session.run(f"create table {schema}.events (id int, parent int, text string, ts timestamp)"
                " using delta")  # fmt: skip
    session.run(
        f"insert into {schema}.events select id, id % 5, sha2(string(id), 512),"
        " timestamp'2026-01-01' from range(20000)"
    )
    session.run(f"create table {schema}.shops (id int) using delta")
    session.run(f"insert into {schema}.shops values (2), (7)")
    return made


def model(world: World, name: str, **config: Any) -> Model:
    arrivals = {f"{world.schema}.{table}": ("ts",) for table in ("messages", "events")}
    arrivals[f"{world.schema}.shops"] = ("static",)
    return replace(world.model(QUERY, name, **config), arrivals=arrivals)


def explained(world: World, one: Model) -> Explanation:
    return explain_model(world.session, one, world.invocation(100), stored=True)


def orders(found: Explanation) -> list[tuple[tuple[str, ...], str]]:
    return [(tuple(one["tables"]), one["why"]) for one in found.as_json()["joins"]]


def shops_first(sql: str) -> bool:
    """Does a statement of the run join shops before events?"""
    return sql.index("read_shops AS s") < sql.index("read_events AS e")


def test_statistics_mend_a_bad_from(world: World) -> None:
    one, forced = model(world, "one"), model(world, "forced", join_order=["e", "S", "m"])
    first_window = orders(explained(world, one))
    assert first_window[0] == (("m", "s", "e"), "statistics")
    assert {why for _, why in orders(explained(world, forced))} == {"join_order"}
    for each in (one, forced):
        world.run(each, 10)
    world.add((2, "c", 7, 20), (4, "c", 2, 21), (5, "c", 9, 22))
    selects, asked = {}, {}
    for each in (one, forced):
        counting = Counting(world.session)
        world.recall = Recall()  # nothing that the other one has found out
        world.session = counting  # type: ignore[assignment]
        selects[each.name] = world.plan_rows(each, 100).rows.select
        asked[each.name] = Counter(sql.split()[0].upper() for sql in counting.asked)
        world.session = counting.session
    assert asked["one"] == asked["forced"], "an order that is known asks nothing less"
    assert "BROADCAST" in selects["one"]
    assert shops_first(selects["one"])
    assert not shops_first(selects["forced"])
    found = {each.name: _bag(world, each) for each in (one, forced)}
    assert found["one"] == found["forced"]
    assert sum(found["one"].values()) > 4000


def _bag(world: World, one: Model) -> Counter[tuple[Any, ...]]:
    world.run(one, 100)
    return Counter(world.answers(one.name, "id, e, s", order=False))


def test_a_name_of_no_table_stops_the_run(world: World) -> None:
    wrong = model(world, "wrong", join_order=["shops"])
    with pytest.raises(ConfigurationError, match="shops is no table of the query") as error:
        world.run(wrong, 10)
    assert "by their aliases in FROM: e, m, s" in str(error.value)
