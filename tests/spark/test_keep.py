"""Rows of rules that all actions are done with go after `keep`, and no others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.killed import end_leases, killed_at
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ActionFailed, BaselineGap
from tapestry.instants import now_utc
from tapestry.runs.context.clock import Clock
from tapestry.runs.kinds.action import spent_rows
from tapestry.runs.kinds.action.perform import BatchRound
from tapestry.runs.kinds.action.rules_read import read_rules
from tapestry.runs.protocol.crash import REMOVAL_POINTS
from tapestry.runs.tables.action_batch import DROPPED

pytestmark = pytest.mark.more

LOW = "insert into {s}.sums select id, if(sum(v) < 0, raise_error('low'), sum(v)) from matches"
SUMS = "select id, sum(v) from {s}.sums group by id order by id"
WANTED = "select id, sum(v) from {s}.t group by id order by id"


class Keeping(Rules):
    """A rule that binds two tables, and an action by the key of its rows."""

    keep = "0 seconds"

    def begin(self, **config: Any) -> Any:
        self.do(
            f"create table {{s}}.t (id int, v int) using delta {FEED}",
            "create table {s}.sums (id int, v bigint) using delta",
        )
        self.look()
        action = self.added("a", **{"unique_on": "id", "backoff": "0 seconds", **config})
        self.now(action)
        return action

    def added(self, name: str, **config: Any) -> Any:
        return self.action(name, f"{LOW} group by id", "r", **config)

    def look(self, **config: Any) -> None:
        sql = "with gone as (select * from inserted) select id, v from inserted"
        self.now(self.rule("r", sql, "t", when="inserted", evaluate=["gone"], keep=self.keep,
                           **{"if": ["matches"], **config}))  # fmt: skip

    def put(self, *rows: str) -> None:
        """Insert rows, each in a commit; then the rule looks at them."""
        self.do(*(f"insert into {{s}}.t values {one}" for one in rows))
        self.look()

    @property
    def left(self) -> list[list[int]]:
        """The versions whose rows are left in the rule's table, beside it, and of its firings."""
        return [
            [int(one) for (one,) in self.rows(f"select distinct {of} order by 1")]
            for of in (
                "_commit_version from {s}.r",
                "_commit_version from {s}.r__gone",
                "commit_version from {s}.tapestry_firings",
            )
        ]


@pytest.fixture
def world(session: Any, schema: str) -> Keeping:
    return Keeping(session, schema)


def test_what_all_is_done_with_goes(world: Keeping) -> None:
    """But for the head of the last firing; and what comes next is done as ever."""
    action = world.begin()
    world.put("(1, 1), (2, 2)", "(1, 10)")
    assert world.left == [[1, 2]] * 3
    assert str(world.now(action)) == "2 batches of 3 firings"
    assert world.left == [[], [], [2]]
    assert str(world.now(action)) == "nothing due"
    world.look()
    world.put("(2, 20), (null, 3)")
    assert str(world.now(action)) == "2 batches of 2 firings"
    assert world.left == [[], [], [3]]
    assert world.rows(SUMS) == world.rows(WANTED)


def test_an_action_that_waits_holds_all_from_there_on(world: Keeping) -> None:
    """One that has nothing due, and one whose firings are batches of their own."""
    action, single = world.begin(), world.added("single")
    world.now(single)
    world.put("(1, 1)")
    world.now(action)
    assert world.left == [[1]] * 3
    world.now(single)
    assert world.left == [[], [], [1]]
    world.put("(1, 1)", "(2, 2)", "(1, 3)")
    told = str(world.now(world.added("single", max_batches=1)))
    assert told == "1 batch of 1 firing; max_batches is reached, more are due"
    world.now(action)
    assert world.left[:2] == [[3, 4]] * 2
    world.now(single)
    assert world.left == [[], [], [4]]


def test_what_is_dead_stays_with_all_that_came_later(world: Keeping) -> None:
    action = world.begin(attempts=1)
    world.put("(1, 1)")
    world.now(action)
    world.put("(1, 1)", "(2, -2)", "(3, 3)")
    with pytest.raises(ActionFailed, match="low"):
        world.now(action)
    world.put("(1, 1)")
    world.now(action)
    assert world.left[:2] == [[3, 4, 5]] * 2
    run = round_of(world, action)
    life = run.batches.life()
    assert life is not None
    (dead,) = run.batches.unfinished(life)
    run.batches.note_events(life, [dead.became(DROPPED, now_utc(), 0)])
    world.put("(1, 1)")
    world.now(action)
    assert world.left == [[], [], [6]]


def test_what_is_claimed_stays(world: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    action = world.begin()
    world.put("(1, 1), (2, 2)")
    with killed_at("batches_claimed"):
        world.now(action)
    world.put("(3, 3)")
    assert str(world.now(action)) == "1 batch of 1 firing"
    assert world.left == [[1, 2]] * 3
    end_leases(monkeypatch)
    world.now(action)
    assert world.left == [[], [], [2]]
    assert world.rows(SUMS) == world.rows(WANTED)


@pytest.mark.parametrize("point", REMOVAL_POINTS)
def test_killed_while_rows_go(world: Keeping, point: str) -> None:
    action = world.begin()
    world.put("(1, 1), (2, 2)", "(1, 10)")
    with killed_at(point):
        world.now(action)
    assert str(world.now(action)) == "nothing due"
    world.put("(1, 100)")
    assert str(world.now(action)) == "1 batch of 1 firing"
    assert world.left == [[], [], [3]]
    assert world.rows(SUMS) == world.rows(WANTED)


def test_rows_stay_for_as_long_as_they_are_kept(
    world: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.keep = "8 hours"
    action, later = world.begin(), 0
    monkeypatch.setattr(spent_rows, "now_utc", lambda: now_utc() + timedelta(hours=later))
    for later, left in ((0, [1]), (7, [1, 2]), (9, [2, 3]), (30, [4])):
        world.put(f"(1, {later + 1})")
        world.now(action)
        assert world.left[0] == left
    assert world.rows(SUMS) == world.rows(WANTED)


def test_a_rule_that_is_built_again_keeps_its_new_rows(world: Keeping) -> None:
    """Firings of the new table may have the numbers of those that were removed or are to be."""
    world.keep = "1 day"
    action = world.begin()
    world.put("(1, 1)", "(1, 10)")
    run = round_of(world, action)
    rules = read_rules(run.session, run.model, run.invocation, [])
    world.now(action)
    assert rules is not None
    again = world.rule("r", "select id, v from inserted", "t", when="inserted", begin="earliest")
    world.now(again, full_refresh=True)
    life = run.batches.life()
    assert life is not None
    run.lives(rules).spent_rows(run.waiting(life, rules)).remove(
        replace(rules[0], n=5), 2, now_utc()
    )
    assert world.rows("select distinct _commit_version from {s}.r order by 1") == [(1,), (2,)]


def test_a_derived_table_that_comes_too_late(world: Keeping) -> None:
    """Its action would be told of what comes next only."""
    action = world.begin()
    table = world.derived("d", "select id, sum(v) as v from {s}.t group by id", key="id")
    world.now(table)
    world.put("(1, 1)")
    world.now(action)
    world.put("(1, 10)")
    late = world.action("late", "insert into {s}.d select id, v from matches", "r", unique=True)
    with pytest.raises(BaselineGap, match="keep"):
        world.now(late)
    world.now(table, full_refresh=True)
    assert str(world.now(late)) == "nothing due"


def round_of(world: Keeping, action: Any) -> BatchRound:
    return BatchRound(world.session, action, world.invoked(Clock(now_utc(), True)))
