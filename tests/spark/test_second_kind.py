"""A second kind of model, of the tests' own, goes the way of every kind without knowing another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.spark.run_world import World, at, delete_folder, writes

from tapestry.errors import QueryChanged, VerificationFailed
from tapestry.runs.kinds import registry
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import write_checks, write_log

pytestmark = pytest.mark.gate

COUNTS = "select author, count(*) as n from {s}.messages group by author"


@pytest.fixture
def world(session: Any, schema: str, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(registry.KINDS, "whole", "tests.kinds.whole:Whole")
    return World(session, schema).create()


def whole(world: World, **config: Any) -> Model:
    return replace(world.model(COUNTS, **{"verify": "full", **config}), materialized="whole")


def counts(world: World) -> Counter[tuple[Any, ...]]:
    rows = world.session.rows(f"select author, n from {world.schema}.target")
    return Counter(tuple(row) for row in rows)


def test_its_table_is_the_answer_of_now(world: World) -> None:
    model = whole(world)
    assert world.run(model, 10).action == "create"
    assert counts(world) == {("a", 2): 1, ("b", 1): 1}
    assert world.run(model, 20).action == "nothing"
    world.add((4, "b", None, 3), (5, "c", None, 21))
    world.session.run(f"delete from {world.schema}.messages where id = 1")
    outcome = world.run(model, 30)
    assert (outcome.action, outcome.n, outcome.rows) == ("overwrite", 2, 3)
    assert {result.status for result in outcome.results} == {"pass"}
    assert counts(world) == {("a", 1): 1, ("b", 2): 1, ("c", 1): 1}
    assert world.versions() == 2
    assert world.states("n, tau, t") == [(1, None, _local(10)), (2, _local(10), _local(30))]
    assert audited(world, model) == ("pass", "pass")
    (step,) = (
        registry.kind_of(model).explain(world.session, model, world.invocation(40), True).steps
    )
    assert "GROUP BY" in step.sql.upper()
    world.session.run(f"delete from {world.schema}.target where author = 'b'")
    accepting = replace(model, config=replace(model.config, on_target_change="accept"))
    assert audited(world, accepting) == ("fail", "pass")
    delete_folder(world.session, f"{world.schema}.target")
    assert world.run(model, 40, full_refresh=True).action == "create"
    assert counts(world) == {("a", 1): 1, ("b", 2): 1, ("c", 1): 1}


def audited(world: World, model: Model) -> tuple[str, ...]:
    kind = registry.kind_of(model)
    found = kind.audit(world.session, model, world.invocation(40), "full", 0)
    return tuple(result.status for result in found.results)


@pytest.mark.more
def test_a_table_of_another_kind_is_built_anew(world: World) -> None:
    """Else one would write anew the rows that the other never takes back."""
    kinds = (whole(world), world.model(COUNTS), whole(world))
    world.run(kinds[0], 10)
    for was, model in pairwise(kinds):
        before = world.versions()
        with pytest.raises(QueryChanged, match=f"is {model.materialized} now") as caught:
            world.run(model, 20)
        assert f"materialized='{was.materialized}' again" in str(caught.value)
        assert world.versions() == before
        assert world.run(model, 20, full_refresh=True).action == "create"
    assert counts(world) == {("a", 2): 1, ("b", 1): 1}
    assert world.run(kinds[2], 30).action == "nothing"


@pytest.mark.parametrize("here", [more("claimed"), "staged", more("ready"), more("committed")])
def test_a_run_that_was_killed_is_done_once(world: World, here: str) -> None:
    model = whole(world)
    world.run(model, 10)
    world.add((4, "b", None, 3))
    with killed_at(here):
        world.run(model, 20)
    world.recall = type(world.recall)()  # another process
    world.add((5, "c", None, 21))
    world.run(model, 30)
    assert counts(world) == {("a", 2): 1, ("b", 2): 1, ("c", 1): 1}
    landed = 1 if here in ("staged", "ready") else 2  # killed before its commit it leaves nothing
    assert [n for (n,) in sorted(world.states("n"))] == list(range(1, landed + 2))


@pytest.mark.more
def test_rows_are_checked_before_they_are_published(world: World) -> None:
    few = {"name": "few", "expect": "n < 2", "on_violation": "drop"}
    model = whole(world, expectations=[few])
    invocation = world.invocation(10)
    planned = writes(registry.prepare(world.session, model, invocation))
    outcome = registry.execute(world.session, planned, invocation)
    assert outcome.rejected_rows == 1
    assert counts(world) == {("b", 1): 1}
    log, checks = f"{world.schema}.tapestry_runs", f"{world.schema}.tapestry_checks"
    write_log(world.session, log, "i", invocation.log)
    write_checks(world.session, checks, "i", invocation.log)
    logged = world.session.rows(f"select action, new_rows, rejected_rows, verification from {log}")
    assert logged == [("create", 1, 1, "passed")]
    kinds = world.session.rows(f"select kind, status from {checks} order by kind")
    assert [tuple(row) for row in kinds][-2:] == [("expectation", "warn"), ("not_too_much", "pass")]


def test_a_wrong_answer_is_not_published(world: World) -> None:
    model = whole(world)
    world.run(model, 10)
    world.add((4, "b", None, 3))
    invocation = world.invocation(20)
    planned = writes(registry.prepare(world.session, model, invocation))
    wrong = replace(planned.rows, select=f"SELECT * FROM ({planned.rows.select}) WHERE n > 2")
    with pytest.raises(VerificationFailed):
        registry.execute(world.session, replace(planned, rows=wrong), invocation)
    assert counts(world) == {("a", 2): 1, ("b", 1): 1}
    world.run(model, 30)
    assert counts(world) == {("a", 2): 1, ("b", 2): 1}


def _local(seconds: float) -> Any:
    return at(seconds).replace(tzinfo=None)
