"""Batches of an action: many by one statement, one after the other of a key, and chains of them."""

from __future__ import annotations

import json
from itertools import pairwise
from time import monotonic
from typing import Any

import pytest
from tests.killed import end_leases, killed_at
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.runs.kinds.action import claimed_batches
from tapestry.runs.protocol import crash

pytestmark = pytest.mark.more

MERGE = (
    "merge into {s}.sums as t using (select id, sum(v) as v from matches group by id) as d"
    " on t.id <=> d.id when matched then update set v = t.v + d.v"
    " when not matched then insert (id, v) values (d.id, if(d.v < 0, raise_error('low'), d.v))"
)
SUMS = "select id, sum(v) from {s}.t group by id order by id"


@pytest.fixture
def world(session: Any, schema: str) -> Rules:
    rules = Rules(session, schema)
    rules.do(
        f"create table {{s}}.t (id int, v int) using delta {FEED}",
        f"create table {{s}}.log (id int, v int) using delta {FEED}",
        f"create table {{s}}.sums (id int, v bigint) using delta {FEED}",
    )
    rules.now(inserted(rules))
    return rules


def inserted(world: Rules, **config: Any) -> Any:
    return world.rule("r", "select id, v from inserted", "t", when="inserted", **config)


def put(world: Rules, *rows: str) -> None:
    """Insert rows, each in a commit; then the rule looks at them."""
    world.do(*(f"insert into {{s}}.t values {one}" for one in rows))
    world.now(inserted(world))


def keyed(world: Rules, **config: Any) -> Any:
    action = world.action("a", MERGE, "r", unique_on="id", backoff="0 seconds", **config)
    world.now(action)
    return action


def commits(world: Rules, table: str) -> list[dict[str, Any]]:
    """What the commits of a table that an action made say of themselves, newest first."""
    notes = (row[13] for row in world.rows(f"describe history {{s}}.{table}"))
    return [json.loads(note)["tapestry"] for note in notes if note]


def sums(world: Rules) -> list[tuple[Any, ...]]:
    return world.rows("select id, v from {s}.sums order by id")


def test_many_keys_are_one_commit(world: Rules) -> None:
    action = keyed(world, together=True)
    put(world, "(1, 1), (2, 2), (null, 3)", "(1, 10)")
    assert str(world.now(action)) == "3 batches of 4 firings"
    assert sums(world) == world.rows(SUMS)
    (commit,) = commits(world, "sums")
    assert commit["batch"].endswith("/1/w1")
    put(world, "(1, 4), (5, 5)")
    world.now(action)
    assert sums(world) == world.rows(SUMS)
    assert str(world.now(action)) == "nothing due"


def test_four_hundred_keys(world: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets, on two cores that do nothing else: claimed in 5 s, executed in 10 s."""
    action, times = keyed(world, max_batches=400), [monotonic()]
    monkeypatch.setattr(crash, "point", lambda name: times.append(monotonic()))
    world.do("insert into {s}.t select id, id from range(400)")
    world.now(inserted(world))
    times.clear()
    began = monotonic()
    assert str(world.now(action)) == "400 batches of 400 firings"
    assert len(commits(world, "sums")) == 1
    steps = [round(at - before, 1) for before, at in pairwise([began, *times])]
    print(f"claimed, executed, noted: {steps}")


def test_one_bad_key_stops_no_other(world: Rules) -> None:
    """The wave is closed, and its batches are executed one by one."""
    action = keyed(world, attempts=1)
    put(world, "(1, 1), (2, -2), (3, 3)")
    with pytest.raises(ActionFailed, match="low"):
        world.now(action)
    assert sums(world) == [(1, 1), (3, 3)]
    assert [one.get("closed", False) for one in commits(world, "sums")] == [False, False, True]
    put(world, "(3, 1)")
    world.now(action)
    assert sums(world) == [(1, 1), (3, 4)]


@pytest.mark.parametrize("point", ["batches_claimed", "batches_executed"])
@pytest.mark.parametrize("closed", [False, True])
def test_a_wave_that_was_killed(
    world: Rules, monkeypatch: pytest.MonkeyPatch, point: str, closed: bool
) -> None:
    """Executed together or one by one, it lands once; another text does not execute it twice."""
    action = keyed(world)
    put(world, "(1, 1), (2, 2), (3, 3)")
    with monkeypatch.context() as patch:
        if closed:
            patch.setattr(claimed_batches.ClaimedBatches, "tried", lambda *_: False)
        with killed_at(point):
            world.now(action)
    end_leases(monkeypatch)
    world.now(action if closed else keyed(world, together=False))
    assert sums(world) == world.rows(SUMS)
    assert str(world.now(action)) == "nothing due"


def test_a_wave_that_landed_and_seemed_to_fail(
    world: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, land = keyed(world), claimed_batches.land

    def lost(session: Any, how: Any, statement: Any) -> None:
        land(session, how, statement)
        if how.name.endswith("w1") and "closed" not in how.note:
            raise ConnectionError("no answer")

    monkeypatch.setattr(claimed_batches, "land", lost)
    put(world, "(1, 1), (2, 2)")
    assert str(world.now(action)) == "2 batches of 2 firings"
    assert sums(world) == world.rows(SUMS)
    assert len(commits(world, "sums")) == 1


def test_rows_of_all_firings_are_inserted_at_once(world: Rules) -> None:
    action = world.action("a", "insert into {s}.log select id, v from matches", "r")
    world.now(action)
    put(world, "(1, 1), (1, 1)", "(2, 2)", "(1, 1)")
    assert str(world.now(action)) == "3 batches of 3 firings"
    assert world.rows("select * from {s}.log order by id") == [(1, 1)] * 3 + [(2, 2)]
    assert len(commits(world, "log")) == 1


def test_batches_by_the_clock_go_in_waves(world: Rules) -> None:
    """Two of one key are two statements, in the order in which they were opened."""
    action = keyed(world, batching="by_clock")
    put(world, "(1, 1), (2, 2)", "(1, 10)", "(2, 20), (3, 30)", "(1, 100)")
    assert str(world.now(action)) == "6 batches of 6 firings"
    assert sums(world) == world.rows(SUMS)
    waves = world.rows(
        "select key, collect_list(wave) from (select * from {s}.a where event = 'done'"
        " order by i) group by key order by key"
    )
    assert waves == [('["1"]', [1, 2, 0]), ('["2"]', [1, 2]), ('["3"]', [1])]


def test_those_behind_a_bad_key_wait(world: Rules) -> None:
    action = keyed(world, batching="by_clock", attempts=2, on_dead="block")
    put(world, "(1, -1), (2, 2)", "(1, 10), (2, 20)")
    assert str(world.now(action)) == "2 batches of 2 firings, 1 failed"
    assert sums(world) == [(2, 22)]
    events = "select i, event, attempt from {s}.a where key = '[\"1\"]' order by at, i"
    assert world.rows(events)[-2:] == [(1, "failed", 1), (3, "waits", 1)]
    with pytest.raises(ActionFailed):
        world.now(action)
    for _ in range(2):
        assert world.rows(events)[-2:] == [(1, "dead", 2), (3, "waits", 1)]
        with pytest.raises(ActionFailed):
            world.now(action)


def test_together_true_where_it_is_not(world: Rules) -> None:
    put(world, "(1, 1), (2, 2)")
    for sql, says in (
        (MERGE.replace("group by id", "group by v"), "not by id"),
        (MERGE.replace("sums as t", "log as u").replace("t.", "u."), ""),
        (MERGE.replace("from matches", "from matches join {s}.seen using (id)"), "is no table"),
        (MERGE.replace("select id, sum(v)", "select v as id, sum(v)"), "equate id"),
    ):
        world.do("create or replace view {s}.seen as select * from {s}.sums")
        action = world.action("b", sql, "r", unique_on="id", together=True)
        if says:
            with pytest.raises(ConfigurationError, match=says):
                world.now(action)
        else:
            world.now(action)
    world.do("alter table {s}.sums set tblproperties ('delta.columnMapping.mode' = 'name')")
    world.do("alter table {s}.sums drop column id", "alter table {s}.sums add column id string")
    with pytest.raises(ConfigurationError, match="is string, and id of matches int"):
        world.now(world.action("b", MERGE, "r", unique_on="id", together=True))


SLOW = (
    "select count(*) as id, 0 as v from range(0, 40000, 1, 4) as a, range(30000) as b, matches"
    " where a.id % 7 = b.id % 5 and hash(a.id, b.id) % 11 = 3"
)
STATEMENTS = {
    "insert": f"insert into {{s}}.log {SLOW}",
    "merge": f"merge into {{s}}.log as t using ({SLOW}) as d on t.id = d.id"
    " when matched then update set v = 1 when not matched then insert *",
    "subquery": f"insert into {{s}}.log select id, (select max(id) from ({SLOW})) from matches",
    "broadcast": "insert into {s}.log select m.id, m.v from matches as m join"
    f" (select /*+ broadcast */ id as x from ({SLOW})) as z on m.id < z.x",
}


@pytest.mark.parametrize("statement", list(STATEMENTS))
def test_what_takes_too_long_is_stopped(world: Rules, statement: str) -> None:
    """The jobs of all threads that Spark executes a statement with; nothing lands later."""
    action = world.action("a", STATEMENTS[statement], "r", unique=True, timeout="3 seconds",
                          attempts=2, backoff="0 seconds")  # fmt: skip
    world.now(action)
    put(world, "(1, 1)")
    assert str(world.now(action)) == "0 batches of 0 firings, 1 failed"
    quick = world.action("a", "insert into {s}.log select id, v from matches", "r", unique=True)
    assert str(world.now(quick)) == "1 batch of 1 firing"
    assert world.rows("select * from {s}.log") == [(1, 1)]


def chain(world: Rules, **config: Any) -> tuple[Any, Any, Any]:
    """Sums are written by an action, and looked at by another rule, whose action logs them."""
    first = keyed(world, **config)
    rule = world.rule("r2", "select id, cast(v as int) as v from new union all"
                      " select id, cast(v as int) from inserted", "sums",
                      when=["inserted", "updated"], key="id")  # fmt: skip
    world.now(rule)
    second = world.action("a2", "insert into {s}.log select id, v from matches", "r2", unique=True)
    world.now(second)
    return first, rule, second


@pytest.mark.parametrize(("together", "firings"), [(True, 1), (False, 2)])
def test_a_chain(world: Rules, together: bool, firings: int) -> None:
    """The commits of an action are transactions: two of one by one, one of both together."""
    first, rule, second = chain(world, together=together)
    put(world, "(1, 1), (2, 2)")
    world.now(first)
    world.now(rule)
    batches = "1 batch of 1 firing" if firings == 1 else "1 batch of 2 firings"
    assert str(world.now(second)) == batches
    assert world.rows("select id, v from {s}.log order by id") == [(1, 1), (2, 2)]
    assert world.rows("select depth from {s}.a2 where event = 'done'") == [(1,)]
    depths = world.rows("select distinct rule like '%r2', depth from {s}.tapestry_firings")
    assert sorted(depths) == [(False, 0), (True, 1)]


def test_a_chain_in_a_replay(world: Rules) -> None:
    """The commit of an action counts at the t of the run that made it."""
    first, rule, second = chain(world)
    put(world, "(1, 1)")
    world.now(first, later=3600)
    world.now(rule)
    assert str(world.now(second)) == "nothing due"
    world.now(rule, later=3600)
    assert str(world.now(second, later=3600)) == "1 batch of 1 firing"


def test_a_loop_is_bounded(world: Rules) -> None:
    """loop-bounded: the action writes what its rule looks at."""
    sql = "insert into {s}.t select id, v + 1 from matches"
    action = world.action("a", sql, "r", max_depth=2, cycles="allow")
    world.now(action)
    put(world, "(1, 1)")
    for _ in range(3):
        assert str(world.now(action)) == "1 batch of 1 firing"
        world.now(inserted(world))
    with pytest.raises(ActionFailed, match="chain"):
        world.now(action)
    assert world.rows("select v from {s}.t order by v") == [(1,), (2,), (3,), (4,)]
    dead = world.rows("select depth, attempt, error like '%max_depth%' from {s}.a"
                      " where event = 'dead'")  # fmt: skip
    assert dead == [(3, 0, True)]
    assert str(world.now(action)) == "nothing due"
