"""Tables of maintained models against the query over their sources, after any change."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.seeds import seeds
from tests.spark.run_world import World, literal

from tapestry.errors import TargetChanged, VerificationFailed
from tapestry.runs.context import shared_views
from tapestry.runs.kinds.maintained import source_versions
from tapestry.runs.kinds.maintained.reasons import NotIncremental
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.model.model import Model
from tapestry.sql.operators.versions import TwoVersions

pytestmark = pytest.mark.gate


class Shop(World):
    """Orders and customers; neither says when its rows arrive."""

    def create(self) -> Shop:
        run = self.session.run
        run(f"create table {self.schema}.orders (id int, cust int, amount decimal(10,2),"
            " rate double, due timestamp) using delta")  # fmt: skip
        run(f"create table {self.schema}.customers (id int, region string) using delta")
        return self

    def maintained(self, sql: str, name: str = "target", **config: Any) -> Model:
        asked = {"verify": "full", "refresh": "incremental", **config}
        made = replace(self.model(sql, name), materialized="maintained", arrivals={})
        return replace(made, config=parse_config("maintained", asked))

    def table(self, name: str = "target") -> Counter[tuple[Any, ...]]:
        return Counter(map(tuple, self.session.rows(f"select * from {self.schema}.{name}")))

    def answer(self, model: Model, seconds: float) -> Counter[tuple[Any, ...]]:
        """The query as Spark answers it now."""
        sql = model.sql.replace("now()", literal(seconds))
        return Counter(map(tuple, self.session.rows(sql)))


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return Shop(session, schema).create()


QUERIES = (
    "select cust, count(*) as n, sum(amount) as s, max(amount) as m from {s}.orders group by cust",
    "select cust, count(*) as n, sum(amount) as s, avg(amount) as a from {s}.orders group by cust",
    "select due, amount > 5 as big, count(cust) as n, sum(id) as s from {s}.orders group by all",
    "select count(*) as n, sum(amount) as s, avg(amount) as a, count_if(id > 3) c from {s}.orders",
    "select cust, sum(amount) as s from {s}.orders group by cust order by s desc, cust limit 2",
    "select n, count(*) as c from (select c.id, count(o.id) as n from {s}.customers c left join"
    " {s}.orders o on o.cust = c.id group by c.id) group by n",
    "select * from {s}.orders where amount > 5",
    "select distinct cust from {s}.orders",
    "select o.id, o.amount, c.region from {s}.orders o left join {s}.customers c on c.id = o.cust",
    "select c.id, c.region, count(o.id) as n, sum(o.amount) as s from {s}.customers c"
    " left join {s}.orders o on o.cust = c.id group by c.id, c.region",
    "select c.region, sum(o.amount) as s from {s}.orders o join {s}.customers c on c.id = o.cust"
    " group by c.region",
    "select id, region from {s}.customers c"
    " where not exists (select 1 from {s}.orders o where o.cust = c.id)",
    "select id, cust, amount, row_number() over (partition by cust order by amount desc, id) as r"
    " from {s}.orders",
    "select id, case when due < now() then 'late' else 'open' end as status from {s}.orders",
    "select cust, count(*) as n from {s}.orders where due > now() - interval 10 seconds"
    " group by cust having count(*) > 1",
    "select cust as k from {s}.orders union all select id from {s}.customers",
    "select cust as k from {s}.orders except select id from {s}.customers",
    "select id, exists (select 1 from {s}.customers c where c.id = o.cust) as e,"
    " cust in (select id from {s}.customers where region = 'x') as i from {s}.orders o",
    "select max(amount) as m, count(*) as n from {s}.orders",
    "select cust, sum(rate) as r from {s}.orders group by cust",
    "select id, amount from {s}.orders order by amount desc, id limit 3",
    "select o.cust, c.region from {s}.orders o full join {s}.customers c on c.id = o.cust",
)

KEYLESS = (QUERIES[-1], QUERIES[-2], QUERIES[-4])
"""They are computed whole."""


def change(shop: Shop, rng: random.Random) -> None:
    """One commit to one of the tables."""
    run, s = shop.session.run, shop.schema

    def order() -> str:
        cust = rng.choice(("null", *"12345"))
        return (f"({rng.randint(1, 9)}, {cust}, {rng.randint(1, 9)}, {rng.choice((0.1, 0.2, 0.3))},"
                f" {literal(rng.randint(0, 60))})")  # fmt: skip

    orders = ", ".join(order() for _ in range(rng.randint(1, 4)))
    customers = ", ".join(
        f"({rng.randint(1, 6)}, '{rng.choice('xyz')}')" for _ in range(rng.randint(1, 3))
    )
    k = rng.randint(1, 5)
    run(rng.choice((
        f"insert into {s}.orders values {orders}",
        f"insert into {s}.orders values {orders}",
        f"insert into {s}.customers values {customers}",
        f"delete from {s}.orders where id <= {k}",
        f"delete from {s}.customers where id = {k}",
        f"update {s}.orders set cust = {rng.choice(('null', *'12345'))} where id % 3 = {k % 3}",
        f"update {s}.orders set amount = amount + 1 where cust = {k}",
        f"update {s}.customers set region = 'z' where id = {k}",
        f"insert overwrite {s}.customers values {customers}",
        f"insert overwrite {s}.orders select * from {s}.orders where id <> {k}",
    )))  # fmt: skip


def moved_about(shop: Shop, sql: str, number: int, runs: int = 4) -> list[str]:
    """Run a model again and again over random changes; how each run was done."""
    refresh = "auto" if sql in KEYLESS else "incremental"
    model, rng, told = shop.maintained(sql, refresh=refresh), random.Random(number), []
    for _ in range(3):
        change(shop, rng)
    seconds = 10
    for _ in range(runs):
        outcome = shop.run(model, seconds)
        assert shop.table() == shop.answer(model, seconds), f"{number} {outcome}"
        assert all(one.status == "pass" for one in outcome.results)
        told.append(str(outcome))
        seconds += rng.choice((0, 5, 20))
        for _ in range(rng.choice((0, 1, 1, 2))):
            change(shop, rng)
    return told


@pytest.mark.parametrize("sql", [QUERIES[4], *(more(sql) for sql in QUERIES)])
def test_the_table_is_the_answer_of_now(shop: Shop, sql: str) -> None:
    (number,) = seeds(1)
    moved_about(shop, sql, number)


COUNTS = "select cust, count(*) as n, sum(amount) as s from {s}.orders group by cust"


def order(number: int, cust: int | None, amount: int = 1, due: int = 0) -> str:
    return f"({number}, {'null' if cust is None else cust}, {amount}, 0.1, {literal(due)})"


def into(shop: Shop, *orders: str) -> None:
    shop.session.run(f"insert into {shop.schema}.orders values {', '.join(orders)}")


def with_orders(session: Any, schema: str) -> Shop:
    """A shop with three orders of two customers."""
    made = Shop(session, schema).create()
    into(made, order(1, 1), order(2, 2), order(3, 2))
    return made


def test_a_run_writes_what_changed_and_nothing_else(shop: Shop) -> None:
    """One commit, whose feed has the rows that differ; rows that stay are not in it."""
    run, s = shop.session.run, shop.schema
    into(shop, order(1, 1), order(2, 2), order(3, None), order(4, 3))
    model = replace(shop.maintained(COUNTS), properties={"delta.enableChangeDataFeed": "true"})
    assert shop.run(model, 10).action == "create"
    assert shop.run(model, 20).action == "nothing"
    run(f"update {s}.orders set cust = 2 where id = 1")  # a group goes, another grows
    run(f"update {s}.orders set amount = 5 where cust is null")
    into(shop, order(5, 4))
    outcome = shop.run(model, 30)
    assert str(outcome) == "1 inserted, 2 updated, 1 deleted; incremental"
    assert shop.table() == shop.answer(model, 30)
    assert shop.versions() == 2
    feed = shop.session.rows(
        f"select _change_type, cust, n from table_changes('{s}.target', 1, 1) order by all"
    )
    assert Counter(map(tuple, feed)) == Counter({
        ("delete", None, 1): 1, ("delete", 1, 1): 1, ("delete", 2, 1): 1,
        ("insert", None, 1): 1, ("insert", 2, 2): 1, ("insert", 4, 1): 1,
    })  # fmt: skip
    into(shop, order(6, 5))
    assert str(shop.run(model, 40)) == "1 inserted, 0 updated, 0 deleted; incremental"
    run(f"insert overwrite {s}.orders select * from {s}.orders")  # the same rows
    assert str(shop.run(model, 50)) == "nothing new"


@pytest.mark.parametrize("here", [more("claimed"), "staged", more("ready"), more("committed")])
def test_a_run_that_was_killed_loses_nothing(shop: Shop, here: str) -> None:
    into(shop, order(1, 1), order(2, 2))
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    shop.session.run(f"delete from {shop.schema}.orders where id = 1")
    with killed_at(here):
        shop.run(model, 20)
    shop.recall = type(shop.recall)()  # another process
    into(shop, order(3, 2), order(4, 3))
    shop.run(model, 30)
    assert shop.table() == shop.answer(model, 30)


def test_why_the_whole_answer_is_computed(shop: Shop) -> None:
    """In words with the name of the reason; ``refresh: incremental`` stops instead."""
    run, s = shop.session.run, shop.schema
    into(shop, order(1, 1), order(2, 2))
    model = shop.maintained(COUNTS, refresh="auto")
    shop.run(model, 10)
    into(shop, order(3, 2))
    assert str(shop.run(model, 20)) == "0 inserted, 1 updated, 0 deleted; full: SMALL"
    limited = shop.maintained("select max(amount) as m from {s}.orders", "limited")
    shop.run(limited, 20)
    into(shop, order(4, 2, amount=9))
    with pytest.raises(NotIncremental, match=r"\[NO_KEY\]"):
        shop.run(limited, 30)
    auto = shop.maintained(limited.sql, "limited", refresh="full")
    assert str(shop.run(auto, 30)) == "1 inserted, 0 updated, 1 deleted; full: ASKED"
    run(f"delete from {s}.target where cust = 1")
    with pytest.raises(TargetChanged):
        shop.run(model, 40)
    again = shop.maintained(COUNTS, refresh="auto", on_target_change="refresh")
    assert shop.run(again, 40).action == "create"
    other = shop.maintained(COUNTS.replace("sum", "max"))
    with pytest.raises(NotIncremental, match=r"\[QUERY_CHANGED\]"):
        shop.run(other, 50)
    run(f"drop table {s}.orders")
    shop.session.run(f"create table {s}.orders (id int, cust int, amount decimal(10,2),"
                     " rate double, due timestamp) using delta")  # fmt: skip
    into(shop, order(1, 7))
    with pytest.raises(NotIncremental, match=r"\[HISTORY_GONE\]"):
        shop.run(shop.maintained(COUNTS), 50)
    shop.run(again, 50)
    assert shop.table() == shop.answer(again, 50)


@pytest.mark.more
def test_a_change_feed_is_read_once_for_all_models_of_an_invocation(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_versions, "HELD", 0)
    orders = f"{shop.schema}.orders"
    shop.session.run(f"alter table {orders} set tblproperties (delta.enableChangeDataFeed = true)")
    into(shop, order(1, 1), order(2, 2))
    models = [shop.maintained(COUNTS), shop.maintained("select id from {s}.orders", "ids")]
    for model in models:
        shop.run(model, 10)
    into(shop, order(3, 2))
    shop.session.run(f"update {orders} set id = 7 where id = 1")
    made: list[str] = []
    make = shared_views._made
    monkeypatch.setattr(
        shared_views, "_made", lambda session, sql: made.append(sql) or make(session, sql)
    )
    invocation = shop.invocation(20)
    for model in models:
        execute(shop.session, prepare(shop.session, model, invocation, False), invocation)
    assert ["table_changes" in one for one in made] == [True]
    for model in models:
        assert shop.table(model.name) == shop.answer(model, 20)


@pytest.mark.more
def test_what_is_overlooked_is_noticed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that finds too few keys publishes nothing."""
    into(shop, order(1, 1), order(2, 2))
    model = shop.maintained(COUNTS)
    shop.run(model, 10)
    shop.session.run(f"update {shop.schema}.orders set cust = 2 where id = 1")
    apart = TwoVersions.apart
    monkeypatch.setattr(
        TwoVersions, "apart", lambda self, alias: apart(self, alias)[1:]  # new rows alone
    )  # fmt: skip
    before = shop.table()
    with pytest.raises(VerificationFailed, match="too many"):
        shop.run(model, 20)
    assert shop.table() == before
    monkeypatch.undo()
    shop.run(model, 30)
    assert shop.table() == shop.answer(model, 30)


@pytest.mark.more
def test_columns_may_be_called_as_signs_are(shop: Shop) -> None:
    deals = f"{shop.schema}.deals"
    shop.session.run(f"create table {deals} (is_signed boolean, _sign int) using delta")
    shop.session.run(f"insert into {deals} values (true, 1), (false, -1)")
    sql = "select is_signed, count(*) as n, sum(_sign) as s from {s}.deals group by is_signed"
    model = shop.maintained(sql)
    shop.run(model, 10)
    shop.session.run(f"insert into {deals} values (true, 1)")
    shop.session.run(f"delete from {deals} where _sign < 0")
    assert str(shop.run(model, 20)) == "0 inserted, 1 updated, 1 deleted; incremental"
    assert shop.table() == shop.answer(model, 20)


@pytest.mark.more
def test_sums_go_on_where_no_row_changes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that lands without rows keeps what the change added, too."""
    monkeypatch.setattr("tapestry.runs.sources.pins.retention", lambda table: timedelta(0))
    model = shop.maintained(f"{COUNTS} having count(*) > 1")
    into(shop, order(1, 1), order(2, 2), order(3, 2))
    shop.run(model, 10)
    into(shop, order(4, 3))
    for seconds, number in ((20, 5), (30, 6), (40, 7)):
        shop.run(model, seconds)
        assert shop.table() == shop.answer(model, seconds)
        into(shop, order(number, 3))
    shop.run(model, 50)
    assert shop.table() == shop.answer(model, 50)
    (row,) = shop.session.rows(
        f"select own from {shop.schema}.tapestry_state where t = {literal(50)}"
    )
    assert json.loads(row[0])["sums"] == [
        [["1", "1", "1", "1", "1.00"], ["2", "2", "2", "2", "2.00"], ["3", "4", "4", "4", "4.00"]]
    ]


@pytest.mark.more
def test_a_map_that_is_shown_is_written_whole(shop: Shop) -> None:
    into(shop, order(1, 1), order(2, 2))
    model = shop.maintained("select id, map('cust', cust) as m from {s}.orders", refresh="auto")
    shop.run(model, 10)
    into(shop, order(3, 1))
    assert str(shop.run(model, 20)) == "3 rows; full: UNCOMPARABLE_TYPE"
    found = shop.session.rows(f"select id, m['cust'] from {shop.schema}.target order by id")
    assert [tuple(row) for row in found] == [(1, 1), (2, 2), (3, 1)]
    into(shop, order(4, 1))
    with pytest.raises(NotIncremental, match=r"m map<string,int>\) \[UNCOMPARABLE_TYPE\]"):
        shop.run(shop.maintained(model.sql), 30)
