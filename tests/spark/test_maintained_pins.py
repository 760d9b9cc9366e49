"""Sources of a maintained model as earlier runs read them: what ends that, and what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import make_old
from tests.spark.test_maintained import COUNTS, Shop, into, order, with_orders

from tapestry.errors import Refusal
from tapestry.runs.kinds.maintained import source_versions
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.sources.too_old import GUARD

pytestmark = pytest.mark.more

DAY = 86_400
COLUMNS = "(id int, cust int, amount decimal(10,2), rate double, due timestamp)"
AGAIN = "1 inserted, 0 updated, 1 deleted; incremental"
GONE = "full: HISTORY_GONE"


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return with_orders(session, schema)


@pytest.fixture(params=["small", "large"])
def any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sources are compared whole, of large ones the log says where to look."""
    if request.param == "large":
        monkeypatch.setattr(source_versions, "HELD", 0)


def folder(shop: Shop, table: str = "orders") -> Path:
    detail = shop.session.rows(f"describe detail {shop.schema}.{table}")
    return Path(detail[0][4].removeprefix("file:"))


def remove_old_files(shop: Shop) -> None:
    """As VACUUM does: what is in no version but old ones."""
    in_use = f"select distinct _metadata.file_name from {shop.schema}.orders"
    names = {name for (name,) in shop.session.rows(in_use)}
    for file in folder(shop).glob("*.parquet"):
        if file.name not in names:
            file.unlink()


def told(shop: Shop, model: Model, seconds: float) -> str:
    """Run the model; its table is the answer afterwards, and no commit is spent on another end."""
    said = str(shop.run(model, seconds))
    assert shop.table(model.name) == shop.answer(model, seconds)
    return said


@pytest.mark.usefixtures("any_size")
def test_a_source_that_was_quiet_for_longer_than_deleted_files_are_kept(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is whether the files are there, not how old their commit is."""
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    make_old(shop, "orders")
    shop.session.run(f"update {shop.schema}.orders set cust = 3 where id = 1")
    assert told(shop, model, 20) == AGAIN
    make_old(shop, "orders")
    shop.session.run(f"delete from {shop.schema}.orders where id = 2")
    remove_old_files(shop)
    monkeypatch.setattr("tapestry.runs.kinds.maintained.plan_run.SMALL", 0)
    auto = shop.maintained(COUNTS, refresh="auto")
    assert told(shop, auto, 30).endswith(GONE)
    assert shop.versions() == 3


def test_a_server_that_forbids_the_setting(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_versions, "HELD", 0)
    model = shop.maintained(COUNTS, refresh="auto")
    monkeypatch.setattr("tapestry.runs.kinds.maintained.plan_run.SMALL", 0)
    shop.run(model, 10)
    make_old(shop, "orders")
    shop.session.run(f"update {shop.schema}.orders set cust = 3 where id = 1")
    shop.session.run(f"set {GUARD} = true")
    try:
        assert told(shop, model, 20).endswith(GONE)
    finally:
        shop.session.run(f"set {GUARD} = false")


def test_a_file_that_vanishes_while_a_run_reads(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt publishes nothing; the run goes on by the whole answer."""
    monkeypatch.setattr("tapestry.runs.kinds.maintained.plan_run.SMALL", 0)
    model = shop.maintained(COUNTS, refresh="auto")
    shop.run(model, 10)
    shop.session.run(f"update {shop.schema}.orders set cust = 3 where id = 1")
    statement, failed = "tapestry.runs.protocol.run.commit", []

    def gone(*_: Any) -> Any:
        monkeypatch.undo()
        monkeypatch.setattr("tapestry.runs.kinds.maintained.plan_run.SMALL", 0)
        failed.append(shop.table())
        raise RuntimeError("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file")

    monkeypatch.setattr(statement, gone)
    before = shop.table()
    assert told(shop, model, 20).endswith(GONE)
    assert failed == [before]
    assert told(shop, model, 30) == "nothing new"


@pytest.mark.usefixtures("any_size")
def test_a_table_that_is_built_again_has_changed(shop: Shop) -> None:
    """So does one that is restored; one that was dropped in between begins a log of its own."""
    run, orders = shop.session.run, f"{shop.schema}.orders"
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    run(f"create or replace table {orders} using delta as select * from {orders} where id < 3")
    assert told(shop, model, 20) == "0 inserted, 1 updated, 0 deleted; incremental"
    run(f"restore table {orders} to version as of 1")
    assert told(shop, model, 30) == "0 inserted, 1 updated, 0 deleted; incremental"
    run(f"create or replace table {orders} {COLUMNS} using delta")
    into(shop, order(4, 7))
    assert told(shop, model, 40) == "1 inserted, 0 updated, 2 deleted; incremental"
    run(f"drop table {orders}")
    run(f"create table {orders} {COLUMNS} using delta")
    for number in range(7):  # its versions go beyond the pin
        into(shop, order(number, 7))
    auto = shop.maintained(COUNTS, refresh="full")
    assert "full" in told(shop, auto, 50)


def test_a_log_that_begins_anew_is_another_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapestry.runs.kinds.maintained.plan_run.SMALL", 0)
    model = shop.maintained(COUNTS, refresh="auto")
    shop.run(model, 10)
    shop.session.run(f"drop table {shop.schema}.orders")
    shop.session.run(f"create table {shop.schema}.orders {COLUMNS} using delta")
    for number in range(5):
        into(shop, order(number, 7))
    assert told(shop, model, 20).endswith(GONE)


@pytest.mark.usefixtures("any_size")
def test_a_column_that_is_another_one_under_its_name(shop: Shop) -> None:
    run, orders = shop.session.run, f"{shop.schema}.orders"
    run(f"alter table {orders} set tblproperties ('delta.columnMapping.mode' = 'name')")
    model = shop.maintained(COUNTS, refresh="auto")
    shop.run(model, 10)
    run(f"alter table {orders} drop column amount")
    run(f"alter table {orders} add column amount decimal(10,2)")
    assert "updated" in told(shop, model, 20)
    assert {amount for _, _, amount in shop.table()} == {None}


def test_a_commit_that_says_of_itself_that_no_data_has_changed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any writer can say so: only what Delta's own maintenance writes is not compared."""
    monkeypatch.setattr(source_versions, "HELD", 0)
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    shop.session.run(f"update {shop.schema}.orders set cust = 3 where id = 1")
    newest = max((folder(shop) / "_delta_log").glob("*.json"))
    newest.write_text(newest.read_text().replace('"dataChange":true', '"dataChange":false'))
    shop.session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[attr-defined]
    assert told(shop, model, 20) == AGAIN
    shop.session.run(f"optimize {shop.schema}.orders")
    assert told(shop, model, 30) == "nothing new"


def test_a_feed_whose_files_are_gone(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions are compared, for they are there."""
    monkeypatch.setattr(source_versions, "HELD", 0)
    run, orders = shop.session.run, f"{shop.schema}.orders"
    run(f"alter table {orders} set tblproperties (delta.enableChangeDataFeed = true)")
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    into(shop, order(9, 9))
    run(f"update {orders} set cust = 3 where id in (1, 2)")
    files = list((folder(shop) / "_change_data").rglob("*.parquet"))
    for file in files:
        file.unlink()
    assert files
    assert told(shop, model, 20) == "2 inserted, 1 updated, 1 deleted; incremental"


def test_pins_move_before_their_files_go(shop: Shop) -> None:
    """A change that reaches nothing is written down when half of the time is over, not before."""
    model = shop.maintained(COUNTS)
    shop.run(model, 0)
    shop.session.run(f"optimize {shop.schema}.orders")
    assert told(shop, model, 3 * DAY) == "nothing new"
    assert shop.versions() == 1
    assert told(shop, model, 4 * DAY) == "0 inserted, 0 updated, 0 deleted; incremental"
    assert shop.versions() == 2
    assert told(shop, model, 8 * DAY) == "nothing new"  # the pins are those of the source's newest
    kept = f"('delta.deletedFileRetentionDuration' = 'interval {30} days')"
    shop.session.run(f"alter table {shop.schema}.orders set tblproperties {kept}")
    assert told(shop, model, 18 * DAY) == "nothing new"
    assert "0 inserted" in told(shop, model, 20 * DAY)


def test_a_run_that_was_claimed_over_versions_that_are_gone(shop: Shop) -> None:
    """It is closed, and a new one goes on from the last that landed."""
    model = shop.maintained(COUNTS, refresh="full")
    shop.run(model, 10)
    into(shop, order(4, 4))
    with killed_at("claimed"):
        shop.run(model, 20)
    shop.recall = type(shop.recall)()  # another process
    shop.session.run(f"drop table {shop.schema}.orders")
    shop.session.run(f"create table {shop.schema}.orders {COLUMNS} using delta")
    into(shop, order(5, 5))
    assert "full" in told(shop, model, 30)
    assert shop.versions() == 3


def test_a_model_that_runs_is_read_as_its_run_leaves_it(shop: Shop) -> None:
    """Whoever looked at its table before has pinned nothing."""
    below = shop.maintained(COUNTS, "counts")
    above = shop.maintained("select cust, n from {s}.counts where n > 1", "above")
    shop.run(below, 10)
    shop.run(above, 10)
    into(shop, order(4, 1))
    invocation = shop.invocation(20)
    invocation.pins.of(shop.session, f"{shop.schema}.counts")
    for model in (below, above):
        execute(shop.session, prepare(shop.session, model, invocation, False), invocation)
    assert shop.table("above") == shop.answer(above, 20)
    assert len(shop.table("above")) == 2


def test_two_names_of_one_log_have_one_pin(shop: Shop) -> None:
    orders, again = f"{shop.schema}.orders", f"{shop.schema}.again"
    shop.session.run(f"create table {again} using delta location '{folder(shop)}'")
    pins = shop.invocation(10).pins
    first = pins.of(shop.session, orders)
    into(shop, order(4, 4))
    second = pins.of(shop.session, again)
    assert first.pin == second.pin  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("relation", "code"),
    [
        ("(values (1), (2)) as v(x)", "no-source"),
        ("range(3)", "function-in-from"),
        ("delta.`{folder}`", "path"),
        ("parquet.`/tmp/somewhere`", "path"),
        ("plain_files", "not-delta"),
        ("a_temporary_view", "temporary-view"),
    ],
)
def test_what_has_no_versions_is_refused_in_words(shop: Shop, relation: str, code: str) -> None:
    shop.session.run(f"create table {shop.schema}.plain_files (x int) using parquet")
    shop.session.run("create or replace temporary view a_temporary_view as select 1 as x")
    named = relation.format(folder=folder(shop))
    named = f"{{s}}.{named}" if relation == "plain_files" else named
    with pytest.raises(Refusal) as refused:
        shop.run(shop.maintained(f"select count(*) as n from {named}"), 10)
    assert refused.value.code == code
    assert refused.value.hint


def test_constants_beside_a_table_are_no_source(shop: Shop) -> None:
    sql = "select o.id, v.x from {s}.orders o join (values (1, 'a'), (2, 'b')) as v(id, x)"
    model = shop.maintained(f"{sql} on o.cust = v.id", refresh="auto")
    told(shop, model, 10)
    into(shop, order(4, 1))
    assert "1 inserted" in told(shop, model, 20)
    row = shop.session.rows(f"select pins from {shop.schema}.tapestry_state order by n desc")[0]
    assert list(json.loads(row[0])) == [f"{shop.schema}.orders"]


def test_a_feed_is_read_beside_its_table_at_a_version(shop: Shop) -> None:
    """Spark takes the feed for the table, or the table for the feed, where that has no version."""
    orders = f"{shop.schema}.orders"
    shop.session.run(f"alter table {orders} set tblproperties (delta.enableChangeDataFeed = true)")
    into(shop, order(1, 1), order(2, 2))
    shop.session.run(f"delete from {orders} where id = 1")
    newest = max(row[0] for row in shop.session.rows(f"describe history {orders}"))
    feed = f"table_changes('{orders}', {newest})"
    at = f"select distinct id from {orders} version as of {newest - 1} where id in"
    assert [tuple(row) for row in shop.session.rows(f"{at} (select id from {feed})")] == [(1,)]
    without = f"select count(*) > 0 from {orders} where id in (select id from {feed})"
    ((wrong,),) = shop.session.rows(without)
    assert wrong, "Spark is right now (the rows are gone): `feed_of` need not say so any more"
