"""A run that writes nothing before its commit claims its number by the commit.

The state gets its row at the end of the invocation, or from the next run where that was killed.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.runs.state_rows import other
from tests.spark.run_world import ALL, World, at
from tests.spark.test_maintained import Shop, into, order

from tapestry.errors import AssumptionWrong, ConcurrentRun
from tapestry.runs.kinds.maintained import few_rows
from tapestry.runs.kinds.registry import execute
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import run
from tapestry.runs.protocol.plan import Decided, Planned
from tapestry.runs.tables import state
from tapestry.runs.tables.state import runs_of

pytestmark = pytest.mark.gate

ANSWERS = [(1, 0.0), (2, 1.0), (3, 5.0), (4, 6.0), (5, 9.0)]


def warm(world: World, **config: Any) -> tuple[Model, Planned]:
    """A model that has run up to 4, new rows, and the plan of its next run; verified unless not."""
    model = world.model(ALL, **{"verify": "sample", **config})
    world.run(model, 4)
    world.add((4, "c", None, 6), (5, "d", None, 9))
    planned = world.plan_rows(model, 10)
    assert planned.claims_by_commit
    return model, planned


@pytest.mark.parametrize("verify", [more("sample"), "off"])
@pytest.mark.parametrize("warmly", [True, more(False)])
def test_the_state_gets_the_row_at_the_end(world: World, verify: str, warmly: bool) -> None:
    _, planned = warm(world, verify=verify)
    if not warmly:
        world.recall = type(world.recall)()
    invocation = world.invocation(10)
    execute(world.session, planned, invocation)
    assert world.answers() == ANSWERS
    assert world.states("n") == [(1,)]
    invocation.states.record(world.session)
    assert world.states("n, run_id, recorded_at IS NOT NULL")[1] == (2, planned.row.run_id, True)
    assert runs_of(world.session, invocation.state_table, planned.row.generation)[1] == planned.row


@pytest.mark.parametrize("place", [more("ready"), "committed", more("confirmed")])
def test_killed_before_the_state_has_the_row(world: World, place: str) -> None:
    """Before the commit nothing is there; after it the next process records the run."""
    model, planned = warm(world)
    with killed_at(place):
        execute(world.session, planned, world.invocation(10))
    assert world.states("n") == [(1,)]
    world.recall = type(world.recall)()  # another process
    world.add((6, "e", None, 15))
    world.run(model, 20)
    assert world.answers() == [*ANSWERS, (6, 15.0)]
    known = [(1,), (2,)] if place == "ready" else [(1,), (2,), (3,)]
    assert sorted(world.states("n")) == known


@pytest.mark.more
def test_a_whole_answer_is_claimed_by_its_commit(
    session: Any, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A maintained model all of whose rows are written; killed, it has no commit."""
    shop = Shop(session, schema).create()
    monkeypatch.setattr(few_rows, "FEW", 0)
    into(shop, order(1, 1), order(2, 2))
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    model = shop.maintained(most, refresh="full", verify="off")
    shop.run(model, 10)
    into(shop, order(3, 2, amount=7))
    assert str(shop.run(model, 20)) == "2 rows; full: ASKED"
    before = shop.table()
    assert before == shop.answer(model, 20)
    assert sorted(shop.states("n, recorded_at IS NOT NULL")) == [(1, False), (2, True)]
    into(shop, order(4, 2, amount=8))
    with killed_at("ready"):
        shop.run(model, 30)
    assert shop.table() == before
    monkeypatch.undo()
    shop.recall = type(shop.recall)()  # another process
    shop.run(model, 40)
    assert shop.table() == shop.answer(model, 40)


@pytest.mark.more
def test_a_state_that_cannot_be_written_is_caught_up_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage of the state refuses: the answers are there, and the next run records both."""
    model, planned = warm(world)
    invocation = world.invocation(10)
    execute(world.session, planned, invocation)

    def refused(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(state, "append_own", refused)
    with pytest.raises(OSError, match="disk is full"):
        invocation.states.record(world.session)
    monkeypatch.undo()
    assert world.states("n") == [(1,)]
    world.add((6, "e", None, 15))
    world.run(model, 20)
    assert world.answers() == [*ANSWERS, (6, 15.0)]
    assert sorted(world.states("n")) == [(1,), (2,), (3,)]


def overtaken(world: World, planned: Planned) -> None:
    """Another process claims the same n, and is killed."""
    row = other(planned.row, run_id="another", t=at(8))
    assert state.claim(world.session, f"{world.schema}.tapestry_state", row)


@pytest.mark.parametrize("recorded", [True, more(False)])
def test_a_claim_of_the_number_does_not_count(world: World, recorded: bool) -> None:
    """What the other one may have written beside the table under it does not, either."""
    model, planned = warm(world)
    overtaken(world, planned)
    invocation = world.invocation(10)
    execute(world.session, planned, invocation)
    if recorded:
        invocation.states.record(world.session)
    else:
        world.recall = type(world.recall)()  # killed before that
    world.add((6, "e", None, 15))
    world.run(model, 20)
    assert world.answers() == [*ANSWERS, (6, 15.0)]
    runs = runs_of(world.session, f"{world.schema}.tapestry_state", planned.row.generation)
    assert [(one.n, one.failed) for one in runs] == [(1, ()), (2, (2,)), (3, (2,))]
    assert runs[1].run_id == planned.row.run_id


@pytest.mark.more
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
