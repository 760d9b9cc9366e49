"""When a maintained model goes by what changed, and when by its whole answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.spark.test_maintained import COUNTS, Shop, into, order

from tapestry.runs.kinds.maintained import (
    cheaper,
    few_rows,
    kept_sums,
    plan_run,
    source_versions,
    table_change,
)
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.protocol.log import write_log
from tapestry.runs.protocol.past_runs import past_runs
from tapestry.runs.query import relations

pytestmark = [pytest.mark.gate, pytest.mark.more]


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return Shop(session, schema).create()


def test_a_table_that_is_small_beside_its_sources_is_computed_whole(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and sums are added to all the same; an incremental model goes by its keys."""
    monkeypatch.setattr(plan_run, "SMALL", 0)
    monkeypatch.setattr(plan_run.NextRun, "small", True)
    monkeypatch.setattr(cheaper, "BESIDE", 0)
    monkeypatch.setattr(kept_sums, "SMALL", 0)
    into(shop, order(1, 1), order(2, 2))
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    models = [
        shop.maintained(most, "most", refresh="auto"),
        shop.maintained(most, "keyed"),
        shop.maintained(COUNTS, "counts", refresh="auto"),
    ]
    for model in models:
        shop.run(model, 10)
    into(shop, order(3, 2, amount=7))
    told = [str(shop.run(model, 20)) for model in models]
    ways = ("full: SMALL_TABLE", "incremental", "incremental")
    assert told == [f"0 inserted, 1 updated, 0 deleted; {way}" for way in ways]
    for model in models:
        assert shop.table(model.name) == shop.answer(model, 20)


def test_a_whole_answer_is_compared_where_somebody_sees_what_changes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads the table by its changes: all rows are written, at the cost of dbt's `table`."""
    monkeypatch.setattr(plan_run, "TINY", 0)
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    feed = {"delta.enableChangeDataFeed": "true"}
    alone = shop.maintained(most, "alone", refresh="full")
    read = replace(shop.maintained(most, "read", refresh="full"), feeds=True)
    followed = replace(shop.maintained(most, "followed", refresh="full"), properties=feed)
    stamped = shop.maintained(most.replace("max", "now() as at, max"), "stamped", refresh="full")
    into(shop, order(1, 1), order(2, 2))
    models = [alone, read, followed, stamped]
    for model in models:
        shop.run(model, 10)
    into(shop, order(3, 2, amount=7))
    told = [str(shop.run(model, 20)) for model in models]
    one = "0 inserted, 1 updated, 0 deleted; full: ASKED"
    assert told == ["2 rows; full: ASKED", one, one, one]
    for model in models[:3]:
        assert shop.table(model.name) == shop.answer(model, 20)


def test_many_changed_rows_of_a_tiny_table_are_not_looked_for_one_by_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement tells that they are many; where somebody reads them they are found."""
    monkeypatch.setattr(few_rows, "FEW", 2)
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    alone = shop.maintained(most, "alone", refresh="full", verify="off")
    read = replace(shop.maintained(most, "read", refresh="full", verify="off"), feeds=True)
    into(shop, order(1, 1), order(2, 2), order(3, 3))
    told: list[list[str]] = []
    asked: list[int] = []
    for seconds in (10, 20, 30, 40):
        told.append([])
        for model in (alone, read):
            shop.session.texts.clear()
            told[-1].append(str(shop.run(model, seconds)))
            asked.append(len(shop.session.texts))
            assert shop.table(model.name) == shop.answer(model, seconds)
        changed = (1, 2, 3) if seconds == 10 else (1,)
        if seconds < 30:
            into(shop, *(order(seconds + n, n, amount=seconds + 90) for n in changed))
    one = "0 inserted, 1 updated, 0 deleted; full: ASKED"
    assert told[1] == ["3 rows; full: ASKED", one.replace("1 updated", "3 updated")]
    assert told[2] == [one, one]
    assert told[3] == ["nothing new", "nothing new"]
    assert asked[2] < asked[3]


def test_a_run_over_little_is_planned_and_carried_out_as_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each exchange that Spark plans again while it runs is a job more, in Delta's log too."""
    inside: list[bool] = []
    outside: list[str] = []

    @contextmanager
    def heed() -> Iterator[None]:
        inside.append(True)
        yield
        inside.pop()

    class Watched(type(shop.session)):  # type: ignore[misc]
        def rows(self, sql: str) -> Any:
            if not inside:
                outside.append(sql)
            return super().rows(sql)

    watched = Watched(shop.session.spark)
    watched.can = replace(watched.can, for_little=heed)
    into(shop, order(1, 1), order(2, 2))
    model = shop.maintained(COUNTS, "counts", refresh="auto", verify="off")
    shop.run(model, 10)
    into(shop, order(3, 2, amount=7))
    told = []
    for limit, change in ((relations.LITTLE, order(4, 2)), (0, order(5, 1))):
        monkeypatch.setattr(relations, "LITTLE", limit)
        into(shop, change)
        outside.clear()
        invocation = shop.invocation(20 + len(told))
        execute(watched, prepare(watched, model, invocation, False), invocation)
        told.append([sql for sql in outside if "DESCRIBE" not in sql and "tapestry_" not in sql])
        assert not inside
        assert shop.table(model.name) == shop.answer(model, 30)
    assert not told[0]
    assert told[1]


def test_what_costs_less_is_weighed_by_changes_keys_and_past_runs(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (plan_run, cheaper, kept_sums):
        monkeypatch.setattr(place, "SMALL", 0)
    monkeypatch.setattr(plan_run.NextRun, "small", True)
    monkeypatch.setattr(cheaper, "BESIDE", 10**6)
    monkeypatch.setattr(source_versions, "HELD", 0)
    # Seconds of a machine that does other things, too: tests/runs/test_cheaper.py weighs them.
    monkeypatch.setattr(cheaper.Cheaper, "_by_past_runs", lambda *_: None)
    orders = f"{shop.schema}.orders"
    shop.session.run(f"alter table {orders} set tblproperties (delta.enableChangeDataFeed = true)")
    shop.session.run(
        f"insert into {orders} select id, id % 100, id, id, timestamp_seconds(id)"
        " from range(0, 20000, 1, 1)"
    )
    most = "select cust, max(amount) as m from {s}.orders group by cust"
    model = shop.maintained(most, refresh="auto")
    told: list[str] = []

    def then(seconds: float, change: str) -> None:
        shop.session.run(change)
        invocation = shop.invocation(seconds)
        plan = prepare(shop.session, model, invocation, False)
        told.append(str(execute(shop.session, plan, invocation)).rpartition("; ")[2])
        write_log(shop.session, f"{shop.schema}.tapestry_runs", invocation.id, invocation.log)
        assert shop.table() == shop.answer(model, seconds)

    then(10, f"update {orders} set amount = 30000 where id = 19901")
    then(20, f"update {orders} set amount = 40000 where id = 19901")
    then(30, f"update {orders} set amount = amount + 1")
    monkeypatch.setattr(table_change, "NAMED", 0)
    then(40, f"update {orders} set amount = 50000 where id >= 19950")
    assert told[1:] == ["incremental", "full: CHANGE_TOO_LARGE", "full: CHANGE_TOO_LARGE"]
    rows = shop.session.rows(
        f"select refresh, reason, reason_about, bytes_changed, bytes_full"
        f" from {shop.schema}.tapestry_runs order by n"
    )
    assert rows[1][3] < rows[2][3]
    assert rows[0][3] is None
    assert "of the bytes that are read" in rows[2][2]
    assert rows[3][2] == "50 keys of a table of 100 rows"
    invocation = shop.invocation(50)
    found = past_runs(shop.session, invocation, f"{shop.schema}.target")
    assert [run.reason for run in found][1:] == ["CHANGE_TOO_LARGE", "", "FIRST_RUN"]
    assert [run.refresh for run in found] == ["full", "full", "incremental", "full"]
