"""A run that keeps its new rows in memory is claimed while it computes and checks them.

Its claim has to stand when something is written, and a run that lost it has to leave no trace.
"""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from tests.marks import more
from tests.runs.state_rows import other
from tests.spark.run_world import ALL, World, at
from tests.spark.test_commit_once import Killed
from tests.spark.test_maintained import Shop, into, order

from tapestry.errors import AssumptionWrong, ConcurrentRun
from tapestry.runs.kinds.maintained import few_rows
from tapestry.runs.kinds.registry import execute
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import claiming, crash, run
from tapestry.runs.protocol.plan import Decided, Planned
from tapestry.runs.tables.state import claim

pytestmark = pytest.mark.gate

LONG = 60.0
"""Seconds after which a test gives up waiting for another thread."""


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema).create()


def warm(world: World, **config: Any) -> tuple[Model, Planned]:
    """A model that has run up to 4, new rows, and the plan of its next run; verified unless not."""
    model = world.model(ALL, **{"verify": "sample", **config})
    world.run(model, 4)
    world.add((4, "c", None, 6), (5, "d", None, 9))
    planned = world.plan_rows(model, 10)
    assert planned.circumstances.warm
    assert planned.rows.holding.rows
    return model, planned


@pytest.mark.parametrize("verify", [more("sample"), "off"])
def test_rows_are_computed_while_the_run_is_claimed(
    world: World, monkeypatch: pytest.MonkeyPatch, verify: str
) -> None:
    """The claim waits for the rows here: were it asked for before, neither would go on."""
    _, planned = warm(world, verify=verify)
    staged = Event()

    def slow_claim(*arguments: Any) -> bool:
        assert staged.wait(LONG)
        return claim(*arguments)

    def point(here: str) -> None:
        if here == "staged":
            staged.set()

    monkeypatch.setattr(claiming, "claim", slow_claim)
    monkeypatch.setattr(crash, "point", point)
    execute(world.session, planned, world.invocation(10))
    assert world.states("n") == [(1,), (2,)]
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0), (5, 9.0)]


def test_a_whole_answer_is_computed_while_the_run_is_claimed(
    session: Any, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of a maintained model all of whose rows are written; killed, it has no commit."""
    shop = Shop(session, schema).create()
    monkeypatch.setattr(few_rows, "FEW", 0)
    into(shop, order(1, 1), order(2, 2))
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    model = shop.maintained(most, refresh="full", verify="off")
    shop.run(model, 10)
    staged = Event()

    def slow_claim(*arguments: Any) -> bool:
        assert staged.wait(LONG)
        return claim(*arguments)

    def point(here: str) -> None:
        if here == "staged":
            staged.set()
        if here == "ready" and shop.states("n") == [(1,), (2,), (3,)]:
            raise Killed(here)

    monkeypatch.setattr(claiming, "claim", slow_claim)
    monkeypatch.setattr(crash, "point", point)
    into(shop, order(3, 2, amount=7))
    assert str(shop.run(model, 20)) == "2 rows; full: ASKED"
    before = shop.table()
    assert before == shop.answer(model, 20)
    into(shop, order(4, 2, amount=8))
    with pytest.raises(Killed):
        shop.run(model, 30)
    assert shop.table() == before
    monkeypatch.undo()
    shop.recall = type(shop.recall)()  # another process
    shop.run(model, 40)
    assert shop.table() == shop.answer(model, 40)


@pytest.mark.parametrize("verify", [more("sample"), "off"])
def test_nothing_is_committed_before_the_claim(
    world: World, monkeypatch: pytest.MonkeyPatch, verify: str
) -> None:
    """Killed at the last point before the commit: the state has the row of the run."""
    model, planned = warm(world, verify=verify)

    def point(here: str) -> None:
        if here == "ready":
            assert world.states("n") == [(1,), (2,)]
            raise Killed(here)

    monkeypatch.setattr(crash, "point", point)
    with pytest.raises(Killed):
        execute(world.session, planned, world.invocation(10))
    monkeypatch.undo()
    world.recall = type(world.recall)()  # another process
    world.run(model, 20)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0), (5, 9.0)]


@pytest.mark.more
def test_a_claim_that_fails_is_the_run_s_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage of the state refuses: the error is told, nothing is published."""
    model, planned = warm(world)

    def refused(*_: Any) -> bool:
        raise OSError("the disk is full")

    monkeypatch.setattr(claiming, "claim", refused)
    with pytest.raises(OSError, match="disk is full"):
        execute(world.session, planned, world.invocation(10))
    monkeypatch.undo()
    assert world.states("n") == [(1,)]
    world.run(model, 20)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0), (5, 9.0)]


def overtaken(world: World, planned: Planned) -> None:
    """Another process claims the same n, and is killed."""
    row = other(planned.row, run_id="another", t=at(8))
    assert claim(world.session, f"{world.schema}.tapestry_state", row)


@pytest.mark.parametrize("verify", [more("sample"), "off"])
def test_a_run_that_lost_its_claim_goes_on_from_the_winner_s(world: World, verify: str) -> None:
    """What it computed is thrown away; the other one's window is finished first."""
    _, planned = warm(world, verify=verify)
    overtaken(world, planned)
    execute(world.session, planned, world.invocation(10))
    assert world.states("n, run_id")[1] == (2, "another")
    assert [n for (n,) in world.states("n")] == [1, 2, 3]
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0), (5, 9.0)]


def test_a_broken_assumption_closes_no_run_of_another_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found before the claim is asked for: what is closed must be one's own."""
    text = "select r.id, m.author from {s}.messages m, {s}.messages r where r.parent = m.id"
    model = world.model(text, assume=["r.ts >= m.ts"], verify="sample")
    world.run(model, 4)
    world.add((4, "c", None, 7), (5, "early", 4, 6))
    planned = world.plan_rows(model, 10)
    overtaken(world, planned)

    def not_again(*_: Any) -> Decided:
        raise ConcurrentRun("looked again")

    monkeypatch.setattr(run, "prepare", not_again)
    with pytest.raises(ConcurrentRun, match="looked again"):
        execute(world.session, planned, world.invocation(10))
    monkeypatch.undo()
    assert world.states("n, run_id, failed_at")[1] == (2, "another", None)
    with pytest.raises(AssumptionWrong):
        world.run(model, 20)
