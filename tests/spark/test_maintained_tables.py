"""Tables that stand where a maintained model is to be: taken over, replaced, brought back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import killed_before
from tests.spark.run_world import at, writes
from tests.spark.test_maintained import COUNTS, Shop, into, order, with_orders

from tapestry.errors import ConcurrentRun, ConfigurationError, StateMissing, WindowError
from tapestry.names import GENERATION_PROPERTY
from tapestry.runs.kinds.maintained.bring_to_state import adopting, rewinding
from tapestry.runs.kinds.registry import execute, kind_called
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.adoption import compare

pytestmark = pytest.mark.more

MAINTAINED = kind_called("maintained")
BUILT = "create or replace table {s}.target using delta {built} as select 1 as cust, 7L as n"
AS_TABLE = "tblproperties ('tapestry.kind' = 'table')"
NAMES = f"SET TBLPROPERTIES ('{GENERATION_PROPERTY}'"
"""The last statement of a commit into a table that was there."""


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return with_orders(session, schema)


def adopt(shop: Shop, model: Model, seconds: float) -> str:
    invocation = shop.invocation(seconds)
    planned = adopting(shop.session, model, invocation)
    return str(execute(shop.session, planned, invocation))


def rewind(shop: Shop, model: Model, now: float, to: float) -> str | None:
    invocation = shop.invocation(now)
    planned = rewinding(shop.session, model, invocation, at(to))
    return None if planned is None else str(execute(shop.session, planned, invocation))


def feed(shop: Shop, version: int) -> int:
    """How many rows a commit of the table has changed."""
    changes = f"table_changes('{shop.schema}.target', {version}, {version})"
    return len(shop.session.rows(f"select * from {changes}"))


def test_a_table_that_dbt_builds_anew_each_time_is_replaced(shop: Shop) -> None:
    """Whatever else stands there is refused, in words that name both ways."""
    run, model = shop.session.run, shop.maintained(COUNTS)
    run(BUILT.format(s=shop.schema, built=""))
    with pytest.raises(StateMissing) as refused:
        shop.run(model, 10)
    assert "--full-refresh" in refused.value.hint
    assert "tapestry adopt" in refused.value.hint
    run(BUILT.format(s=shop.schema, built="tblproperties ('tapestry.kind' = 'incremental')"))
    with pytest.raises(StateMissing):
        shop.run(model, 10)
    run(BUILT.format(s=shop.schema, built=AS_TABLE))
    run(f"insert into {shop.schema}.target values (5, 5)")  # by hand, say
    with pytest.raises(StateMissing):
        shop.run(model, 10)
    run(BUILT.format(s=shop.schema, built=AS_TABLE))
    run(f"optimize {shop.schema}.target")
    outcome = shop.run(model, 10)
    assert (outcome.action, outcome.refreshed.reason) == ("create", "FIRST_RUN")
    assert shop.table() == shop.answer(model, 10)


def test_there_and_back_again(shop: Shop) -> None:
    """A table that dbt has built in the place of ours is one that dbt builds anew."""
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    shop.session.run(BUILT.format(s=shop.schema, built=AS_TABLE))
    assert shop.run(model, 20).refreshed.reason == "FIRST_RUN"
    shop.session.run(f"drop table {shop.schema}.target")
    shop.session.run(f"create view {shop.schema}.target as select 1 as x")
    planned = writes(shop.plan(model, 30))
    assert planned.told.figures.refreshed.reason == "FIRST_RUN"


@pytest.mark.parametrize("killed", [False, True])
def test_a_table_is_adopted_by_the_rows_that_differ(shop: Shop, killed: bool) -> None:
    model, target = shop.maintained(COUNTS), f"{shop.schema}.target"
    types = "cust int, n bigint, s decimal(20,2)"
    feeds = "using delta tblproperties (delta.enableChangeDataFeed = true)"
    shop.session.run(f"create table {target} ({types}) {feeds}")
    shop.session.run(f"insert into {target} values (1, 1, 1), (2, 9, 9), (7, 7, 7)")
    found = compare(shop.session, MAINTAINED, model, shop.invocation(10))
    assert (found.rows, found.answers) == (3, 2)
    assert (found.missing.rows, found.extra.rows) == (1, 2)
    if killed:
        with killed_before(shop.session, NAMES):
            adopt(shop, model, 10)
        assert shop.table() == shop.answer(model, 10)
        with pytest.raises(StateMissing):
            shop.run(model, 20)
        assert compare(shop.session, MAINTAINED, model, shop.invocation(20)).same
    said = adopt(shop, model, 30)
    rows = "0 inserted, 0 updated, 0 deleted" if killed else "0 inserted, 1 updated, 1 deleted"
    assert said == f"{rows}; full: ASKED"
    assert feed(shop, 2) == 3
    assert shop.table() == shop.answer(model, 30)
    assert str(shop.run(model, 40)) == "nothing new"
    into(shop, order(4, 1))
    assert str(shop.run(model, 50)) == "0 inserted, 1 updated, 0 deleted; incremental"
    with pytest.raises(ConfigurationError, match="of this maintained model already"):
        compare(shop.session, MAINTAINED, model, shop.invocation(60))


def test_a_table_with_other_columns_is_not_adopted(shop: Shop) -> None:
    shop.session.run(f"create table {shop.schema}.target (cust bigint, n int) using delta")
    with pytest.raises(ConfigurationError, match="cust bigint, n int, the query gives") as refused:
        adopt(shop, shop.maintained(COUNTS), 10)
    assert "--full-refresh" in refused.value.hint


@pytest.mark.parametrize("killed", [False, True])
def test_a_table_is_brought_back_to_an_earlier_run(shop: Shop, killed: bool) -> None:
    """The next run goes on from what that run had read."""
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    first = shop.table()
    into(shop, order(4, 4))
    shop.run(model, 20)
    second = shop.table()
    shop.session.run(f"delete from {shop.schema}.orders where id < 3")
    shop.run(model, 30)
    third = shop.table()
    assert rewind(shop, model, 40, to=35) is None
    if killed:
        with killed_before(shop.session, NAMES):
            rewind(shop, model, 40, to=25)
        shop.recall = type(shop.recall)()
    else:
        assert rewind(shop, model, 40, to=25) == "1 inserted, 1 updated, 0 deleted; full: ASKED"
    assert shop.table() == second
    again = shop.run(model, 50)
    if killed:
        assert again.action == "create"
    else:
        assert str(again) == "0 inserted, 1 updated, 1 deleted; incremental"
    assert shop.table() == third == shop.answer(model, 50)
    with pytest.raises(WindowError, match="no longer reaches back"):
        rewind(shop, model, 60, to=15)  # that was in another generation
    assert first != second


def test_brought_back_to_versions_that_are_gone(shop: Shop) -> None:
    """Of the sources: the next run computes the whole answer. Of the table: refused."""
    model = shop.maintained(COUNTS, refresh="auto")
    shop.run(model, 10)
    into(shop, order(4, 4))
    shop.run(model, 20)
    with pytest.raises(WindowError, match="no longer reaches back"):
        rewind(shop, model, 30, to=5)
    assert rewind(shop, model, 30, to=10) == "0 inserted, 0 updated, 1 deleted; full: ASKED"
    shop.session.run(f"drop table {shop.schema}.orders")
    shop.session.run(
        f"create table {shop.schema}.orders (id int, cust int, amount decimal(10,2), rate double,"
        " due timestamp) using delta"
    )
    into(shop, order(9, 9))
    assert "full" in str(shop.run(model, 40))
    assert shop.table() == shop.answer(model, 40)


@pytest.mark.parametrize("rows", ["(9, 9, 9)", "(1, 1, 1)"])
def test_somebody_else_writes_while_a_table_is_adopted(shop: Shop, rows: str) -> None:
    """The table is not taken over; what was written is found by the next comparison."""
    model, target = shop.maintained(COUNTS), f"{shop.schema}.target"
    shop.session.run(f"create table {target} (cust int, n bigint, s decimal(20,2)) using delta")
    shop.session.run(f"insert into {target} values {rows}")
    invocation = shop.invocation(10)
    planned = adopting(shop.session, model, invocation)
    shop.session.run(f"insert into {target} values (5, 5, 5)")
    with pytest.raises(ConcurrentRun):
        execute(shop.session, planned, invocation)
    with pytest.raises(StateMissing):
        shop.run(model, 20)
    adopt(shop, model, 30)
    assert shop.table() == shop.answer(model, 30)


def test_a_run_gets_ahead_of_a_rewind(shop: Shop) -> None:
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    into(shop, order(4, 4))
    shop.run(model, 20)
    invocation = shop.invocation(40)
    planned = writes(rewinding(shop.session, model, invocation, at(10)))  # type: ignore[arg-type]
    into(shop, order(5, 5))
    shop.run(model, 30)
    there = shop.table()
    with pytest.raises(ConcurrentRun):
        execute(shop.session, planned, invocation)
    assert shop.table() == there
    into(shop, order(6, 6))
    assert shop.run(model, 50).action == "create"
    assert shop.table() == shop.answer(model, 50)
