"""Rules and actions: the example of STRIP, section 3, and each sort of batch."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.runs.kinds.rule import states

COMPS = (
    "select comps_list.comp, comps_list.symbol, weight, old.price as old_price,"
    " new.price as new_price from {s}.comps_list as comps_list, new, old"
    " where comps_list.symbol = new.symbol and new.execute_order = old.execute_order"
)
COMPUTE = (
    "merge into {s}.comp_prices as t using (select comp, sum((new_price - old_price) * weight)"
    " as diff from matches group by comp) as d on t.comp = d.comp"
    " when matched then update set price = t.price + d.diff"
)
RIGHT = (
    "select comp, cast(sum(price * weight) as decimal(20, 4)) from {s}.stocks"
    " join {s}.comps_list using (symbol) group by comp order by comp"
)


@pytest.fixture
def trading(session: Any, schema: str) -> Rules:
    rules = Rules(session, schema)
    rules.do(
        f"create table {{s}}.stocks (symbol string, price decimal(9,2)) using delta {FEED}",
        "insert into {s}.stocks values ('S1', 30), ('S2', 40), ('S3', 50)",
        "create table {s}.comps_list using delta as select * from values ('C1', 'S1', 0.5),"
        " ('C2', 'S1', 0.3), ('C2', 'S2', 0.7), ('C1', 'S3', 0.5) as t(comp, symbol, weight)",
        "create table {s}.comp_prices (comp string, price decimal(20,4)) using delta",
        "insert into {s}.comp_prices select comp, sum(price * weight) from {s}.stocks"
        " join {s}.comps_list using (symbol) group by comp",
    )
    return rules


def prices(trading: Rules) -> list[tuple[Any, ...]]:
    return trading.rows("select comp, price from {s}.comp_prices order by comp")


@pytest.mark.parametrize(
    "how", [{}, {"unique": True}, pytest.param({"unique_on": ["comp"]}, marks=pytest.mark.gate)]
)
def test_the_papers_rules(trading: Rules, how: dict[str, Any]) -> None:
    """Composite prices follow the stocks, whatever the unit of batching (Figures 3, 6, 7)."""
    rule = trading.rule("do_comps", COMPS, "stocks", when="updated price", key="symbol")
    action = trading.action("compute_comps", COMPUTE, "do_comps", **how)
    trading.now(rule)
    assert str(trading.now(action)) == "nothing due"
    trading.do(
        "update {s}.stocks set price = price + 1 where symbol = 'S1'",
        "update {s}.stocks set price = price - 1 where symbol in ('S1', 'S2')",
        "update {s}.stocks set price = price",
        "insert into {s}.stocks values ('S4', 1)",
        "optimize {s}.stocks",
    )
    trading.now(rule)
    said = {"": "2 batches of 2 firings", "unique": "1 batch of 2 firings",
            "unique_on": "2 batches of 4 firings"}[next(iter(how), "")]  # fmt: skip
    assert str(trading.now(action)) == said
    assert prices(trading) == trading.rows(RIGHT)
    assert str(trading.now(action)) == "nothing due"
    trading.do("update {s}.stocks set price = price * 2")
    trading.now(rule)
    trading.now(action)
    assert prices(trading) == trading.rows(RIGHT)


def test_other_tables_are_as_they_were_at_each_commit(trading: Rules) -> None:
    """The table of the rule itself too: after each commit, as that left it."""
    sql = (
        "select new.symbol, comp, weight, (select count(*) from {s}.stocks) as many"
        " from new left join {s}.comps_list as c on c.symbol = new.symbol"
    )
    rule = trading.rule("r", sql, "stocks", when="updated price", key="symbol")
    trading.now(rule)
    raised = "update {s}.stocks set price = price + 1 where symbol = 'S3'"
    trading.do(
        raised,
        "update {s}.comps_list set weight = 0.7 where symbol = 'S3'",
        raised,
        "delete from {s}.comps_list where symbol = 'S3'",
        "insert into {s}.stocks values ('S4', 1)",
        raised,
    )
    trading.now(rule)
    trading.do("insert into {s}.comps_list values ('C9', 'S3', 0.9)", raised)
    trading.now(rule)
    trading.do(raised)
    trading.now(rule)
    found = trading.rows("select comp, weight, many from {s}.r order by _commit_version")
    assert [tuple(map(str, row)) for row in found] == [
        ("C1", "0.5", "3"),
        ("C1", "0.7", "3"),
        ("None", "None", "4"),
        ("C9", "0.9", "4"),
        ("C9", "0.9", "4"),
    ]


def test_a_window_ends_where_a_table_has_changed_too_often(
    trading: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SEGMENTS", 2)
    sql = "select (select count(*) from {s}.comp_prices) as many from new"
    rule = trading.rule("r", sql, "stocks", when="updated price", key="symbol")
    trading.now(rule)
    for number in range(5):
        trading.do(
            f"insert into {{s}}.comp_prices values ('X{number}', 0)",
            "update {s}.stocks set price = price + 1 where symbol = 'S3'",
        )
    for _ in range(4):
        trading.now(rule)
    found = trading.rows("select many, _n from {s}.r order by _commit_version")
    assert found == [(3, 2), (4, 2), (5, 3), (6, 3), (7, 4)]


def test_a_batch_waits_for_the_oldest_of_its_firings(trading: Rules) -> None:
    rule = trading.rule(
        "do_comps", COMPS, "stocks", when="updated price", key="symbol", after="60 seconds"
    )
    action = trading.action("compute_comps", COMPUTE, "do_comps", unique=True)
    trading.now(rule)
    trading.now(action)
    trading.do("update {s}.stocks set price = price + 1 where symbol = 'S1'")
    trading.now(rule)
    assert str(trading.now(action)) == "nothing due"
    trading.do("update {s}.stocks set price = price + 1 where symbol = 'S2'")
    trading.now(rule)
    assert str(trading.now(action)) == "nothing due"
    assert str(trading.now(action, later=61)) == "1 batch of 2 firings"
    assert prices(trading) == trading.rows(RIGHT)
