"""A process in which nothing has happened asks only what no earlier process has found out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.spark.run_world import ALL, UNANSWERED, Counting, World, at
from tests.spark.test_maintained import Shop

from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.registry import prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Decided, Nothing


class Processes:
    """Each plans one run, with what the ones before it have kept in a folder."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder

    def plan(self, model: Model, seconds: float) -> tuple[Decided, bool]:
        """What one decides, and whether it asked its sources when time will bring an answer."""
        recall = self.world.recall = Recall()
        recall.quiet.read(self.folder)
        counting = Counting(self.world.session)
        observed = replace(self.world, session=counting)  # type: ignore[arg-type]
        decided = observed.plan(model, seconds)
        recall.quiet.write(self.folder)
        return decided, any("array_min" in sql for sql in counting.asked)


def test_when_time_brings_an_answer_is_asked_once(world: World, tmp_path: Path) -> None:
    """1 is an answer from 10 on, and 3 from 15 on; 2 has an answer itself."""
    model, processes = world.model(UNANSWERED), Processes(world, tmp_path)
    world.run(model, 12)
    first, asked = processes.plan(model, 13)
    assert (isinstance(first, Nothing), asked) == (True, True)
    second, asked = processes.plan(model, 14)
    assert (isinstance(second, Nothing), asked) == (True, False)
    due, asked = processes.plan(model, 15)
    assert (due.action, asked) == ("append", False)
    world.run(model, 16)
    assert world.answers() == [(1, 10.0), (3, 15.0)]
    after, asked = processes.plan(model, 17)
    assert (isinstance(after, Nothing), asked) == (True, True), "another run is asked about anew"


def test_a_row_or_another_configuration_is_not_overlooked(world: World, tmp_path: Path) -> None:
    model, processes = world.model(UNANSWERED), Processes(world, tmp_path)
    world.run(model, 12)
    assert processes.plan(model, 13)[1]
    assert processes.plan(world.model(UNANSWERED, late_after="2 hours"), 13)[1]
    world.add((4, "c", 3, 13.5))
    decided, _ = processes.plan(model, 14)
    assert decided.action == "append"
    assert decided.t == at(14)


@pytest.mark.parametrize("kind", ["continuous", "maintained"])
def test_a_run_that_began_before_a_faster_one_adds_nothing(
    world: World, session: Session, schema: str, kind: str
) -> None:
    """It has pinned its sources, and another process reads newer versions of them before it does.

    To go on from there would take a maintained table back, and give a continuous one rows twice.
    """
    model = world.model(ALL)
    if kind == "maintained":
        model = Shop(session, schema).maintained(ALL)
    world.run(model, 6)
    slow = replace(world.invocation(12), recall=Recall())
    slow.pins.of(session, f"{schema}.messages")
    world.add((4, "c", None, 7))
    world.run(model, 10)
    decided = prepare(session, model, slow)
    assert isinstance(decided, Nothing)
    (warning,) = decided.told.warnings
    assert f"the last run has read version 2 of {schema}.messages" in warning
    world.add((5, "c", None, 13))
    world.run(model, 20)
    assert session.rows(f"select id from {schema}.target order by id") == [
        (i,) for i in range(1, 6)
    ]
