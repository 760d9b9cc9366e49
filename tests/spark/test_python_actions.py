"""Actions in Python: what they see, what is written, and what becomes of them when they fail."""

from __future__ import annotations

import sys
from time import sleep
from types import ModuleType
from typing import Any

import pytest
from tests.killed import end_leases, killed_at
from tests.spark.python_world import PythonActions
from tests.spark.rule_world import FEED

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.crash import ACTION_POINTS

pytestmark = pytest.mark.more

ADD = "return dbt.ref('r').select('id', 'v')"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A service outside: functions of a test import `service` and append to its calls."""
    service = ModuleType("service")
    service.calls = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "service", service)
    return service.calls  # type: ignore[no-any-return]


@pytest.fixture
def world(session: Any, schema: str) -> PythonActions:
    world = PythonActions(session, schema)
    world.do(
        f"create table {{s}}.t (id int, v int) using delta {FEED}",
        "create table {s}.log (id int, v int) using delta",
        "create table {s}.best (id int, v bigint, note string) using delta",
    )
    return world


def begun(world: PythonActions, action: Model, **rule: Any) -> Model:
    """The rule, when both have run once and nothing waits."""
    made = world.rule("r", "select id, v from inserted", "t", when="inserted", **rule)
    world.now(made)
    world.now(action)
    return made


def logged(world: PythonActions) -> list[tuple[Any, ...]]:
    return world.rows("select id, v from {s}.log order by id, v")


@pytest.mark.parametrize("point", ACTION_POINTS)
@pytest.mark.parametrize("unique", [True, False])
def test_a_function_killed_at_every_point(
    world: PythonActions, monkeypatch: pytest.MonkeyPatch, point: str, unique: bool
) -> None:
    """The next run calls it for the same batch again, and what has landed stays."""
    action = world.function("a", ADD, "*r", "log", writes="log", unique=unique)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1)", "insert into {s}.t values (2, 2), (2, 2)")
    world.now(rule)
    with killed_at(point):
        world.now(action)
    end_leases(monkeypatch)
    world.do("insert into {s}.t values (3, 3)")
    world.now(rule)
    world.now(action)
    world.now(action)
    assert logged(world) == [(1, 1), (2, 2), (2, 2), (3, 3)]


def test_rows_take_the_place_of_those_with_their_key(world: PythonActions) -> None:
    """NULL is a value; columns that the function leaves out stay as they are."""
    body = """
        from pyspark.sql import functions as F
        dbt.ref('best')
        return dbt.ref('r').groupBy(F.col('id').alias('ID')).agg(F.sum('v').alias('v'))
    """
    action = world.function("a", body, "*r", "best", writes="best", merge_on="id", unique=True)
    rule = begun(world, action)
    world.do(
        "insert into {s}.best values (1, 10, 'one'), (null, 20, 'none'), (7, 70, 'seven')",
        "insert into {s}.t values (1, 1), (1, 2), (null, 3), (4, 4)",
    )
    world.now(rule)
    assert str(world.now(action)) == "1 batch of 1 firing"
    rows = world.rows("select * from {s}.best order by id nulls first")
    assert rows == [(None, 3, "none"), (1, 3, "one"), (4, 4, None), (7, 70, "seven")]


def test_what_a_function_sees(world: PythonActions, calls: list[Any]) -> None:
    """Its batch, other bound tables, the current state at its start, and what the batch says."""
    body = """
        from service import calls
        from tapestry.actions import batch
        one = batch()
        session.sql("insert into {s}.log values (9, 9)")
        session.sql("insert into {s}.log values (9, 9)")
        rows, log = dbt.ref('r'), dbt.ref('log')
        calls.append((
            dict(one.key), len(one.idempotency_key), one.attempt, one.release.tzinfo is not None,
            rows.columns, sorted((r.id, r.v) for r in rows.collect()),
            [r.v for r in one.bound('EXTRA').collect()], log.count(),
        ))
        try:
            one.bound('odd')
        except Exception as error:
            calls.append(str(error).splitlines()[0])
    """
    action = world.function("a", body, "*r", "log", unique_on="id")
    sql = "with extra as (select v from inserted where v > 1) select id, v from inserted"
    rule = world.rule("r", sql, "t", when="inserted", evaluate=["extra"])
    world.now(rule)
    world.now(action)
    world.do("insert into {s}.t values (1, 1), (null, 2), (null, 3)")
    world.now(rule)
    assert str(world.now(action)) == "2 batches of 2 firings"
    columns = ["id", "v", "_commit_time", "_commit_version", "_row"]
    one, other = sorted(calls[::2], key=repr)
    assert one[:6] == ({"id": "1"}, 36, 1, True, columns, [(1, 1)])
    assert other[:6] == ({"id": None}, 36, 1, True, columns, [(None, 2), (None, 3)])
    assert [sorted(found[6]) for found in (one, other)] == [[2, 3], [2, 3]]
    assert {found[7] for found in (one, other)} == {0, 2}  # what it writes itself is not there yet
    assert calls[1::2] == ["no rule of a binds odd"] * 2
    assert logged(world) == [(9, 9)] * 4


def test_an_outside_effect_has_the_same_key_at_each_attempt(
    world: PythonActions, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails, is killed, and is done: three times the same key; another batch has another."""
    body = """
        from service import calls
        from tapestry.actions import batch
        dbt.ref('r')
        calls.append((batch().idempotency_key, batch().attempt))
        if len(calls) == 1:
            raise OSError('no route to the service')
    """
    action = world.function("a", body, "*r", unique=True, backoff="0 seconds")
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    assert str(world.now(action)) == "0 batches of 0 firings, 1 failed"
    ((error,),) = world.rows("select error from {s}.a where event = 'failed'")
    assert error.startswith("OSError: no route to the service\n  in: models/a.py, line 7\n  do: ")
    with killed_at("batches_executed"):
        world.now(action)
    end_leases(monkeypatch)
    world.now(action)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    world.now(action)
    key, other = calls[0][0], calls[-1][0]
    assert key != other
    assert calls == [(key, 1), (key, 2), (key, 2), (other, 1)]


def test_a_function_that_raises_is_tried_again_and_then_dead(world: PythonActions) -> None:
    body = """
        rows = dbt.ref('r')
        if rows.where('v < 0').count():
            raise ValueError('too low')
        return rows.select('id', 'v')
    """
    action = world.function(
        "a", body, "*r", "log", writes="log", unique_on="id", attempts=2, backoff="0 seconds",
        on_dead="block",
    )  # fmt: skip
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, -1), (2, 2)")
    world.now(rule)
    assert str(world.now(action)) == "1 batch of 1 firing, 1 failed"
    with pytest.raises(ActionFailed, match="failed 2 times: ValueError: too low"):
        world.now(action)
    assert logged(world) == [(2, 2)]


@pytest.mark.parametrize(
    ("body", "says", "config"),
    [
        ("return 3", "returned int, which is no DataFrame", {}),
        ("return dbt.ref('r').select('id')", "no column v, which merge_on", {"merge_on": "v"}),
        ("return dbt.ref('r').selectExpr('id', 'v as w')", "a column w, and", {}),
        ("return dbt.ref('r').selectExpr('id', 'id as ID')", "two columns id", {}),
        ("return dbt.ref('r').selectExpr('string(id) as id')", "string as id, and", {}),
        ("return dbt.ref('r').select('id', 'v')", "2 rows with id = 1", {"merge_on": "id"}),
        ("return dbt.ref('r').select('nothing')", "UNRESOLVED_COLUMN", {}),
        ("return dbt.ref('odd')", "KeyError", {}),
        ("import sys; sys.exit(3)", "ended by SystemExit", {}),
        ("return dbt.ref('r').select('id')", "writes: does not name", {"writes": None}),
        ("import time; time.sleep(30)", "not done within 0:00:01", {"timeout": "1 second"}),
        (
            "return session.newSession().sql('select 1 as id')",
            "of another Spark session",
            {},
        ),
    ],
)
def test_functions_that_fail(
    world: PythonActions, body: str, says: str, config: dict[str, Any]
) -> None:
    given = {"writes": "log", "unique": True, "attempts": 1, **config}
    action = world.function("a", body, "*r", "log", **given)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1), (1, 2)")
    world.now(rule)
    with pytest.raises(ActionFailed, match=says):
        world.now(action)
    assert logged(world) == []


def test_other_dataframes_and_no_rows(world: PythonActions) -> None:
    bodies = (
        "import pandas; return pandas.DataFrame({'id': [1], 'v': [2]})",
        "return dbt.ref('r').select('id', 'v').pandas_api()",
        "return dbt.ref('r').where('id > 9')",
        "import pandas; return pandas.DataFrame()",
        "return None",
    )
    actions = [
        world.function(f"a{number}", f"{body}\ndbt.ref('log')", "*r", "log", writes="log")
        for number, body in enumerate(bodies)
    ]
    rule = begun(world, actions[0])
    for action in actions:
        world.now(action)
    world.do("insert into {s}.t values (1, 3)")
    world.now(rule)
    for action in actions:
        assert str(world.now(action)) == "1 batch of 1 firing"
    assert logged(world) == [(1, 2), (1, 3)]
    assert len(world.rows("describe history {s}.log")) == 3


@pytest.mark.parametrize(
    ("names", "says", "config"),
    [
        (("r",), "does not say what triggers it", {}),
        (("*r",), "does not name log", {"writes": "log"}),
        (("*r",), "nothing says which table", {"merge_on": "id"}),
    ],
)
def test_actions_that_are_refused(
    world: PythonActions, names: tuple[str, ...], says: str, config: dict[str, Any]
) -> None:
    world.now(world.rule("r", "select id, v from inserted", "t", when="inserted"))
    with pytest.raises(ConfigurationError, match=says):
        world.now(world.function("a", ADD, *names, **config))
    if "merge_on" in config:
        sql = "insert into {s}.log select id, v from matches"
        with pytest.raises(ConfigurationError, match="a function in Python returns"):
            world.now(world.action("b", sql, "r", **config))


def test_a_function_whose_rows_have_landed_is_not_called_again(
    world: PythonActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would see its own rows; dead by that and replayed, they would come twice."""
    body = """
        if dbt.ref('log').count():
            raise ValueError('somebody was here')
        return dbt.ref('r').select('id', 'v')
    """
    action = world.function("a", body, "*r", "log", writes="log", attempts=1)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    with killed_at("batches_executed"):
        world.now(action)
    end_leases(monkeypatch)
    assert str(world.now(action)) == "1 batch of 1 firing"
    assert logged(world) == [(1, 1)]


def test_what_takes_too_long_in_spark_is_stopped(world: PythonActions) -> None:
    """The DataFrame that a function returns is computed when it is returned."""
    # Each of many short tasks: one that runs is not interrupted, the others never begin.
    long = "sum(hash(id)) as v from range(0, 20000000000, 1, 20000)"
    body = f"return session.sql('select 1 as id, {long}')"
    action = world.function("a", body, "*r", "log", writes="log", timeout="5 seconds", attempts=1)
    rule = begun(world, action)
    world.do("insert into {s}.t values (1, 1)")
    world.now(rule)
    with pytest.raises(ActionFailed, match="not done within 0:00:05"):
        world.now(action)
    tracker = world.session.spark.sparkContext.statusTracker()
    for _ in range(50):
        if not tracker.getActiveJobsIds():
            break
        sleep(0.1)
    assert tracker.getActiveJobsIds() == []


def test_two_rules_of_one_function(world: PythonActions) -> None:
    """`dbt.ref` gives the rows of one rule, `bound` those of both."""
    body = """
        from tapestry.actions import batch
        rows = batch().bound('matches').selectExpr('id', 'v + 10 as v')
        return dbt.ref('r').select('id', 'v').union(rows).union(dbt.ref('q').select('id', 'v'))
    """
    action = world.function("a", body, "*r", "*q", "log", writes="log", unique=True)
    world.do(f"create table {{s}}.u (id int, v int) using delta {FEED}")
    rules = [
        world.rule(name, "select id, v from inserted", table, when="inserted")
        for name, table in (("r", "t"), ("q", "u"))
    ]
    for one in (*rules, action):
        world.now(one)
    world.do("insert into {s}.t values (1, 1)", "insert into {s}.u values (2, 2)")
    for one in (*rules, action):
        world.now(one)
    assert logged(world) == [(1, 1), (1, 11), (2, 2), (2, 12)]
