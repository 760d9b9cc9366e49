"""A run asks what days its few new rows are of, and reads the files of those days only."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World, at, literal

from tapestry.runs.kinds.continuous import query
from tapestry.runs.kinds.continuous.window import measured_first, new_answers
from tapestry.runs.kinds.registry import execute, parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.query import holding

DAYS = 12
THROUGH = (
    "select r1.id, r2.id as moved, r3.id as last from {s}.transfers r1, {s}.transfers r2,"
    " {s}.transfers r3 where r1.amount > 1000 and r1.receiver = r2.sender"
    " and r2.amount > 0.5 * r1.amount and r1.day <= r2.day and r2.day <= r1.day + 2"
    " and r2.receiver = r3.sender and r2.amount = r3.amount and r2.day <= r3.day"
    " and r3.day <= r2.day + 2"
)
"""Example 4 of the transfers: the days are not their arrival."""


@pytest.fixture
def world(session: Any, schema: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """A commit a day, with a transfer of 2,000 from account n to n + 1; all counts as large."""
    for module in (holding, query):
        monkeypatch.setattr(module, "SMALL", -1)
    monkeypatch.setattr(measured_first, "SPARK_KNOWS", -1)
    session.run(
        f"create table {schema}.transfers (id int, sender int, receiver int, day date,"
        " amount decimal(15,2), ts timestamp) using delta"
    )
    world = World(session, schema)
    for day in range(DAYS):
        add(world, (day, day, day + 1, day, 2000, day * 10))
    return world


def add(world: World, *rows: tuple[float, ...]) -> None:
    """Append transfers: id, sender, receiver, day of January, amount, ts in seconds."""
    values = ", ".join(
        f"({i}, {sender}, {receiver}, date_add(date'2026-01-01', {day}), {amount}, {literal(ts)})"
        for i, sender, receiver, day, amount, ts in rows
    )
    world.session.run(f"insert into {world.schema}.transfers values {values}")


def model(world: World, name: str = "target", **config: Any) -> Model:
    """Example 4 over the transfers."""
    return Model(
        name=name,
        relation=f"{world.schema}.{name}",
        sql=THROUGH.format(s=world.schema),
        config=parse_config("continuous", {"verify": "off", **config}),
        arrivals={f"{world.schema}.transfers": ("ts",)},
        file=f"models/{name}.sql",
    )


def files_read(world: World, planned: Planned) -> list[int]:
    """How many files each reading of the transfers picks."""
    frame = world.session.spark.sql(planned.rows.select)  # type: ignore[attr-defined]
    frame.collect()
    found: list[int] = []

    def walk(node: Any) -> None:
        if node.nodeName() == "AdaptiveSparkPlan":
            walk(node.executedPlan())
            return
        children = node.children()
        if children.size() == 0 and node.nodeName().endswith("QueryStage"):
            walk(node.plan())
        if node.metrics().contains("numFiles") and ".transfers" in node.toString():
            found.append(node.metrics().apply("numFiles").value())
        for i in range(children.size()):
            walk(children.apply(i))

    walk(frame._jdf.queryExecution().executedPlan())
    return found


def test_only_files_of_the_days_are_read(world: World) -> None:
    late = (DAYS - 1) * 10
    known, unknown = model(world), model(world, "unknown", infer="off")
    for one in (known, unknown):
        world.run(one, late + 5)
    add(world, (20, DAYS, DAYS + 1, DAYS, 2000, late + 10))
    world.session.texts.clear()  # type: ignore[attr-defined]
    planned, plainly = (world.plan_rows(one, late + 15) for one in (known, unknown))
    asked = [t for t in world.session.texts if "GROUP BY\n  _place" in t]  # type: ignore[attr-defined]
    assert len(asked) == 2  # one for each model: the bytes alone where nothing is inferred
    assert ["MIN(" in text for text in asked] == [True, False]
    select = planned.rows.select
    for alias, low, high in (("r1", 9, 14), ("r2", 11, 14)):
        assert f"{alias}.day >= CAST('2026-01-{low:02d}' AS DATE)" in select
        assert f"{alias}.day <= CAST('2026-01-{high - 1:02d}' AS DATE)" in select
    assert "day >= CAST" not in plainly.rows.select
    few, all_of_them = (files_read(world, one) for one in (planned, plainly))
    assert len(few) == len(all_of_them) == 9
    assert sum(few) < sum(all_of_them) / 2
    for one, name in ((planned, "target"), (plainly, "unknown")):
        execute(world.session, one, world.invocation(late + 15))
        assert (10, 11, 20, late + 10.0) in world.answers(name, "id, moved, last")
    assert world.answers("target", "id, moved, last") == world.answers("unknown", "id, moved, last")


def test_branches_without_a_row_are_left_out(world: World) -> None:
    """A small transfer is no first or later step: nothing is left but to say so."""
    one = model(world)
    world.run(one, 200)
    add(world, (20, DAYS, DAYS + 1, DAYS, 5, 210))
    planned = world.plan_rows(one, 215)
    assert "UNION ALL" not in planned.rows.select
    assert "FALSE" in planned.rows.select
    assert execute(world.session, planned, world.invocation(215)).rows == 0


LATE = (30, 3, 4, 3, 2500, 25)
"""Late when the others are there: a step of days 3 to 5."""


@pytest.mark.parametrize("slip", [False, True])
def test_what_comes_late_is_not_what_was_measured(
    world: World, monkeypatch: pytest.MonkeyPatch, slip: bool
) -> None:
    """The rows that a run finds to be late are not there yet when it measures; later they are."""
    if slip:
        monkeypatch.setattr(new_answers, "exactly_standing", lambda found: frozenset(found))
    one = model(world)
    world.run(one, 200)
    add(world, LATE, (31, 4, 5, 4, 2500, 26), (32, 5, 6, 5, 2500, 205))
    planned = world.plan_rows(one, 215)
    execute(world.session, planned, world.invocation(215))
    found = [row[:3] for row in world.answers(columns="id, moved, last")]
    assert ((30, 31, 32) in found) is not slip
    if slip:
        return
    assert "day >= CAST" not in planned.rows.select
    add(world, (40, 5, 7, 4, 2500, 225))
    planned = world.plan_rows(one, 230)
    assert "day >= CAST" in planned.rows.select  # those that came late before are known
    execute(world.session, planned, world.invocation(230))
    assert (30, 31, 40) in [row[:3] for row in world.answers(columns="id, moved, last")]
    assert at(230)
