"""A separable function in Python: called once for the batches of many keys, one commit."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import end_leases, killed_at
from tests.spark.python_world import PythonActions
from tests.spark.rule_world import FEED

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.action import claimed_batches
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.crash import ACTION_POINTS

pytestmark = pytest.mark.more

SUMS = """
from pyspark.sql import functions as F
from tapestry.actions import batch
rows = dbt.ref('r')
if batch().key.get('id') is None and rows.where('v < 0').count():
    raise ValueError('below zero, with others')
return rows.groupBy('id').agg(F.sum('v').alias('v'), F.lit(len(batch().key)).alias('keys'))
"""
WANTED = "select id, sum(v) from {s}.t where v >= 0 group by id order by id"


@pytest.fixture
def world(session: Any, schema: str) -> PythonActions:
    world = PythonActions(session, schema)
    world.do(
        f"create table {{s}}.t (id int, v bigint) using delta {FEED}",
        "create table {s}.log (id int, v bigint, keys int) using delta",
    )
    return world


def action_of(world: PythonActions, **config: Any) -> Model:
    keys = {"unique_on": "id", "separable": True, "writes": "log", **config}
    return world.function("a", SUMS, "*r", "log", **keys)


def begun(world: PythonActions, action: Model, sql: str = "select id, v from inserted") -> Model:
    rule = world.rule("r", sql, "t", when="inserted")
    world.now(rule)
    world.now(action)
    return rule


def sums(world: PythonActions) -> list[tuple[Any, ...]]:
    return world.rows("select id, sum(v) from {s}.log group by id order by id")


def commits(world: PythonActions) -> int:
    history = world.rows("describe history {s}.log")
    return sum("tapestry" in str(row) for row in history)


def test_one_call_and_one_commit_for_all_keys(world: PythonActions) -> None:
    action = action_of(world)
    rule = begun(world, action)
    world.do(
        "insert into {s}.t values (1, 1), (2, 2)", "insert into {s}.t values (1, 10), (null, 3)"
    )
    world.now(rule)
    assert str(world.now(action)) == "3 batches of 4 firings"
    assert commits(world) == 1
    assert sums(world) == world.rows(WANTED)
    assert world.rows("select distinct keys from {s}.log") == [(0,)], "no key is all the batches'"
    assert str(world.now(action)) == "nothing due"
    single = action_of(world, together="false")
    world.do("insert into {s}.t values (1, 5), (2, 7)")
    world.now(rule)
    world.now(single)
    assert commits(world) == 3
    assert sums(world) == world.rows(WANTED)


def test_where_one_key_fails_each_is_called_by_itself(world: PythonActions) -> None:
    """The function raises where the rows of a bad key are among others."""
    action = action_of(world)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1), (2, -2), (3, 3)")
    world.now(rule)
    world.now(action)
    kept = world.rows("select id, sum(v) from {s}.log where id <> 2 group by id order by id")
    assert kept == [(1, 1), (3, 3)]
    assert commits(world) == 4, "one that closes the wave, and one a batch"


@pytest.mark.parametrize("point", ACTION_POINTS)
def test_killed_at_every_point(
    world: PythonActions, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    action = action_of(world)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1), (2, 2)")
    world.now(rule)
    with killed_at(point):
        world.now(action)
    world.do("insert into {s}.t values (1, 10), (3, 3)")
    world.now(rule)
    end_leases(monkeypatch)
    world.now(action)
    world.now(action)
    assert sums(world) == world.rows(WANTED)


def test_a_wave_that_landed_and_seemed_to_fail(
    world: PythonActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, call = action_of(world), claimed_batches.ClaimedBatches.call
    rule = begun(world, action)

    def lost(*arguments: Any) -> None:
        call(*arguments)
        raise ConnectionError("no answer")

    monkeypatch.setattr(claimed_batches.ClaimedBatches, "call", lost)
    world.do("insert into {s}.t values (1, 1), (2, 2)")
    world.now(rule)
    world.now(action)
    assert sums(world) == world.rows(WANTED)
    assert commits(world) == 1


def test_what_cannot_be_together(world: PythonActions) -> None:
    whole = action_of(world, together="true")
    sql = "with gone as (select v from deleted) select id, v from inserted"
    rule = world.rule("r", sql, "t", when="inserted", evaluate=["gone"])
    world.now(rule)
    for action, says in (
        (whole, "goes whole"),
        (action_of(world, together="true", separable=False), "not said to be separable"),
        (action_of(world, together="true", writes=[]), "does not name the one table"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            world.now(action)
