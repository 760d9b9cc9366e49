"""Actions that fail, are killed, race each other; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import end_leases, killed_at
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import (
    ActionFailed,
    BaselineGap,
    BoundTablesDiffer,
    CannotPair,
    ChangesGone,
    ConfigurationError,
    QueryChanged,
    ReservedName,
    UniqueColumnMissing,
)
from tapestry.instants import now_utc
from tapestry.runs.kinds.rule import plan_run
from tapestry.runs.protocol.crash import ACTION_POINTS, POINTS
from tapestry.runs.tables.batches import BatchesOfAction, batches_table

pytestmark = pytest.mark.more

ADD = "insert into {s}.log select id, v from matches"


@pytest.fixture
def world(session: Any, schema: str) -> Rules:
    rules = Rules(session, schema)
    rules.do(
        f"create table {{s}}.t (id int, v int) using delta {FEED}",
        "create table {s}.log (id int, v int) using delta",
    )
    return rules


def logged(world: Rules) -> list[tuple[Any, ...]]:
    return world.rows("select id, v from {s}.log order by id, v")


def inserted(world: Rules, **config: Any) -> Any:
    return world.rule("r", "select id, v from inserted", "t", when="inserted", **config)


@pytest.mark.parametrize("point", POINTS)
def test_a_rule_killed_at_every_point(world: Rules, point: str) -> None:
    rule, action = inserted(world), world.action("a", ADD, "r")
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1)", "insert into {s}.t values (2, 2)")
    with killed_at(point):
        world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (3, 3)")
    world.now(rule)
    world.now(action)
    assert logged(world) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("point", ACTION_POINTS)
@pytest.mark.parametrize("unique", [True, False])
def test_an_action_killed_at_every_point(
    world: Rules, monkeypatch: pytest.MonkeyPatch, point: str, unique: bool
) -> None:
    """Once the lease is over a run executes the same batch again, and what has landed stays."""
    rule = inserted(world)
    action = world.action("a", ADD, "r", unique=unique)
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1)", "insert into {s}.t values (2, 2), (2, 2)")
    world.now(rule)
    with killed_at(point):
        world.now(action)
    world.do("insert into {s}.t values (3, 3)")
    world.now(rule)
    end_leases(monkeypatch)
    world.now(action)
    world.now(action)
    assert logged(world) == [(1, 1), (2, 2), (2, 2), (3, 3)]


def test_a_batch_that_fails_is_tried_again_and_then_dead(world: Rules) -> None:
    """Later rows of its key wait behind it, those of other keys do not."""
    rule = inserted(world)
    sql = "insert into {s}.log select id, if(v > 0, v, raise_error('too low')) from matches"
    action = world.action(
        "a", sql, "r", unique_on="id", attempts=2, backoff="0 seconds", on_dead="block"
    )
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 0), (2, 2)")
    world.now(rule)
    assert str(world.now(action)) == "1 batch of 1 firing, 1 failed"
    world.do("insert into {s}.t values (1, 5), (2, 3)")
    world.now(rule)
    with pytest.raises(ActionFailed, match="failed 2 times"):
        world.now(action)
    assert logged(world) == [(2, 2), (2, 3)]
    with pytest.raises(ActionFailed, match="failed 2 times"):  # its key is blocked
        world.now(action)
    events = world.rows("select event, attempt from {s}.a where key = '[\"1\"]' order by at")
    assert events == [("claimed", 1), ("failed", 1), ("dead", 2)]


def test_firings_of_a_run_that_was_closed_are_nobodys(
    world: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand in the queue, for the run was killed when it had written them."""
    rule, action = inserted(world), world.action("a", ADD, "r", unique=True)
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1)")
    for _ in range(2):
        with killed_at("before_written"):
            world.now(rule)
        with monkeypatch.context() as patch:
            patch.setattr(plan_run.NextRuleRun, "evaluate", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                world.now(rule)
        assert world.rows("select count(*) from {s}.tapestry_firings") == [(1,)]
        assert str(world.now(action)) == "nothing due"
    world.do("insert into {s}.t values (2, 2)")
    world.now(rule)
    assert world.rows("select count(*) from {s}.tapestry_firings") == [(2,)]
    world.now(action)
    assert logged(world) == [(1, 1), (2, 2)]


def test_a_replay_executes_only_what_has_not_landed(world: Rules) -> None:
    """Each statement of a batch lands once, whatever the number of its replays."""
    world.do("create table {s}.second (id int, v int) using delta")
    add = "insert into {s}.second select id, v from matches"
    rule = inserted(world)
    broken = world.action("a", f"{ADD};{add} where raise_error('no') is null", "r", attempts=1)
    world.now(rule)
    world.now(broken)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    for _ in range(2):
        with pytest.raises(ActionFailed):
            world.now(broken)
        replay(world)
    world.now(world.action("a", f"{ADD};{add}", "r", attempts=1))
    assert (logged(world), world.rows("select * from {s}.second")) == ([(1, 1)], [(1, 1)])


def replay(world: Rules) -> None:
    """Do what `tapestry rules replay` does of the only dead batch."""
    table = batches_table(f"{world.schema}.tapestry_state")
    batches = BatchesOfAction(world.session, table, f"{world.schema}.a")
    life = batches.life()
    assert life is not None
    (dead,) = (one for one in batches.unfinished(life) if one.event.what == "dead")
    assert batches.claim_replay(life, dead, now_utc()) is not None
    batches.note_events(life, [dead.became("replayed", now_utc(), 0)])


def test_after_a_dead_batch_others_go_on(world: Rules) -> None:
    sql = "insert into {s}.log select id, if(v > 0, v, raise_error('too low')) from matches"
    rule, action = inserted(world), world.action("a", sql, "r", unique_on="id", attempts=1)
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 0)")
    world.now(rule)
    with pytest.raises(ActionFailed):
        world.now(action)
    world.do("insert into {s}.t values (1, 5)")
    world.now(rule)
    assert str(world.now(action)) == "1 batch of 1 firing"
    assert logged(world) == [(1, 5)]


def test_a_full_refresh_drops_what_waits(world: Rules) -> None:
    rule, action = inserted(world), world.action("a", ADD, "r", unique=True)
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    assert str(world.now(action, full_refresh=True)) == "nothing due"
    world.do("insert into {s}.t values (2, 2)")
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (3, 3)")
    world.now(rule, full_refresh=True)
    world.do("insert into {s}.t values (4, 4)")
    world.now(rule)
    world.now(action)
    assert logged(world) == [(2, 2), (4, 4)]


def test_what_a_batch_says_of_itself(world: Rules) -> None:
    world.do("create table {s}.said (id string, k string, n string) using delta")
    sql = (
        "insert into {s}.said select '{tapestry.batch:key.id}',"
        " '{tapestry.batch:idempotency_key}', '{tapestry.batch:attempt}' from matches"
    )
    rule, action = inserted(world), world.action("a", sql, "r", unique_on="id")
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1), (null, 2)")
    world.now(rule)
    world.now(action)
    rows = world.rows("select id, length(k), n from {s}.said order by id")
    assert rows == [(None, 36, "1"), ("1", 36, "1")]


def test_begin_says_which_commits_come_first(world: Rules) -> None:
    world.do("insert into {s}.t values (1, 1)", "insert into {s}.t values (2, 2)")
    for name, begin, found in (("e", "earliest", 2), ("v", "2", 1), ("n", "now", 0)):
        rule = world.rule(name, "select id, v from inserted", "t", when="inserted", begin=begin)
        world.now(rule)
        assert len(world.rows(f"select * from {{s}}.{name}")) == found
    action = world.action("a", ADD, "e", unique=True)
    assert str(world.now(action)) == "1 batch of 2 firings"


@pytest.mark.parametrize(
    ("error", "says", "model"),
    [
        (ConfigurationError, "neither inserted", {"when": "upserted"}),
        (ConfigurationError, "neither inserted", {"when": "updated price"}),
        (ConfigurationError, "does not say when", {}),
        (ConfigurationError, "no query called big", {"when": "inserted", "if": ["big"]}),
        (ConfigurationError, "binds nothing", {"when": "inserted", "if": []}),
        (ConfigurationError, "is not an instant", {"when": "inserted", "begin": "yesterday"}),
        (ReservedName, "called new", {"when": "inserted", "bind_as": "new"}),
    ],
)
def test_rules_that_are_refused(
    world: Rules, error: type[Exception], says: str, model: dict[str, Any]
) -> None:
    with pytest.raises(error, match=says):
        world.now(world.rule("odd", "select id, v from inserted", "t", **model))


def test_tables_and_queries_that_are_refused(world: Rules) -> None:
    world.do(
        "create table {s}.bare (id int) using delta",
        f"create table {{s}}.named (commit_time int) using delta {FEED}",
        "create view {s}.seen as select * from {s}.t",
    )
    every = "select * from inserted"
    for table, error, says in (
        ("bare", ChangesGone, "enableChangeDataFeed"),
        ("named", ReservedName, "commit_time"),
        ("seen", ConfigurationError, "is a view"),
    ):
        with pytest.raises(error, match=says):
            world.now(world.rule("odd", every, table, when="inserted"))
    clocked = world.rule("odd", "select now() as n from inserted", "t", when="inserted")
    with pytest.raises(Exception, match="clock-in-rule"):
        world.now(clocked)
    with pytest.raises(ConfigurationError, match="does not say what triggers it"):
        world.now(world.model_of("rule", "odd", every, when="inserted"))


def test_images_that_cannot_be_paired(world: Rules) -> None:
    rule = world.rule("r", "select new.id from new", "t", when="updated v")
    world.now(rule)
    world.do("insert into {s}.t values (1, 1), (2, 2)", "update {s}.t set v = 3 where id = 1")
    world.now(rule)
    assert world.rows("select id from {s}.r") == [(1,)]
    world.do("update {s}.t set v = v + 1")
    with pytest.raises(CannotPair, match="no key tells rows apart"):
        world.now(rule)
    keyed = world.rule("k", "select new.id from new", "t", when="updated v", key="id")
    world.now(keyed)
    world.do("update {s}.t set id = 3 - id, v = v + 1")  # each takes the other's key
    world.now(keyed)
    world.do("insert into {s}.t values (1, 9)", "update {s}.t set v = v + 1")
    with pytest.raises(CannotPair, match="does not tell its rows apart"):
        world.now(keyed)


def test_another_rule_and_another_table(world: Rules) -> None:
    world.now(inserted(world))
    with pytest.raises(QueryChanged, match="another rule"):
        world.now(world.rule("r", "select id from inserted", "t", when="inserted"))
    world.do("drop table {s}.t", f"create table {{s}}.t (id int, v int) using delta {FEED}")
    with pytest.raises(ChangesGone, match="another table"):
        world.now(inserted(world))


def test_firings_that_a_derived_table_holds_are_left_out(world: Rules) -> None:
    """Whichever of the two is built first, and when it is built again."""
    rule = inserted(world)
    world.now(rule)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    table = world.derived("d", "select count(*) as n from {s}.t")
    sql = (
        "merge into {s}.d using (select count(*) as m from matches) on true"
        " when matched then update set n = n + m"
    )
    action = world.action("a", sql, "r", unique=True)
    world.now(table)
    assert str(world.now(action)) == "nothing due"
    world.do("insert into {s}.t values (2, 2)", "insert into {s}.t values (3, 3)")
    world.now(rule)
    assert str(world.now(action)) == "1 batch of 2 firings"
    assert str(world.now(table)) == "nothing new"
    assert world.rows("select n from {s}.d") == [(3,)]
    world.do("insert into {s}.t values (4, 4)")
    world.now(rule)
    world.now(table, full_refresh=True)
    assert str(world.now(action)) == "nothing due"
    assert world.rows("select n from {s}.d") == [(4,)]
    world.do("insert into {s}.t values (5, 5)")
    world.now(rule, full_refresh=True)
    with pytest.raises(BaselineGap, match="built from version 4"):
        world.now(action)


def test_rules_of_one_action_bind_the_same(world: Rules) -> None:
    world.now(inserted(world))
    world.now(world.rule("q", "select id, v as w from deleted", "t", when="deleted"))
    with pytest.raises(BoundTablesDiffer, match="matches"):
        world.now(world.action("a", ADD, "r", "q"))
    world.do("insert into {s}.t values (1, 1)")
    world.now(inserted(world))
    with pytest.raises(UniqueColumnMissing, match="no bound table"):
        world.now(world.action("b", ADD, "r", unique_on="comp"))
    with pytest.raises(ConfigurationError, match="two things"):
        world.now(world.action("c", ADD, "r", unique=True, unique_on="id"))
    with pytest.raises(ConfigurationError, match="no rule"):
        world.now(world.action("d", ADD, "t"))
    with pytest.raises(ConfigurationError, match="does nothing"):
        world.now(world.action("e", "-- nothing", "r"))
