"""Derived tables beside their definition: what is drift, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ActionFailed, BaselineGap, DerivedDrift, TargetChanged
from tapestry.runs.kinds.action.recompute import recompute_mark
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.more

PRICES = (
    "select comp, sum(price * weight) as price from {s}.stocks"
    " join {s}.comps_list using (symbol) group by comp"
)
COMPS = (
    "select comps_list.comp, comps_list.symbol, weight, old.price as old_price,"
    " new.price as new_price from {s}.comps_list as comps_list, new, old"
    " where comps_list.symbol = new.symbol and new.execute_order = old.execute_order"
)
ADD = (
    "merge into {s}.comp_prices as t using (select comp, sum((new_price - old_price) * weight)"
    " as diff from matches group by comp) as d on t.comp = d.comp"
    " when matched then update set price = t.price + d.diff"
)
TWICE = ADD.replace("t.price + d.diff", "t.price + 2 * d.diff")
LOOKING = (
    "merge into {s}.comp_prices as t using (select comp, sum(price * weight) as price"
    " from {s}.stocks join {s}.comps_list using (symbol)"
    " where comp in (select comp from matches) group by comp) as d on t.comp = d.comp"
    " when matched then update set price = d.price"
)


class Trading(Rules):
    """The program trading application, with a derived table of composite prices."""

    rule_of_stocks: Model
    table: Model
    keep = "7 days"

    def begin(self, price: str = "decimal(9,2)", **config: Any) -> None:
        self.do(
            f"create table {{s}}.stocks (symbol string, price {price}) using delta {FEED}",
            "insert into {s}.stocks values ('S1', 30), ('S2', 40), ('S3', 50)",
            f"create table {{s}}.comps_list (comp string, symbol string, weight {price})"
            f" using delta {FEED}",
            "insert into {s}.comps_list values ('C1', 'S1', 0.5), ('C2', 'S1', 0.3),"
            " ('C2', 'S2', 0.7), ('C3', 'S3', 0.5)",
        )
        self.table = self.derived("comp_prices", PRICES, **{"key": "comp", **config})
        self.rule_of_stocks = self.rule(
            "do_comps", COMPS, "stocks", when="updated price", key="symbol", keep=self.keep
        )
        self.now(self.table)
        self.now(self.rule_of_stocks)

    @property
    def recompute(self) -> str:
        return recompute_mark(self.table.relation, ["comp"])

    def move(self, symbol: str, by: str = "+ 1") -> None:
        self.do(f"update {{s}}.stocks set price = price {by} where symbol = '{symbol}'")


@pytest.fixture
def trading(session: Any, schema: str) -> Trading:
    return Trading(session, schema)


@pytest.mark.parametrize("how", [{"unique_on": ["comp"]}, {"unique": True}, {}], ids=str)
def test_a_right_action_shows_no_drift(trading: Trading, how: dict[str, Any]) -> None:
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", **how)
    trading.now(action)
    for step in range(3):
        trading.move("S1")
        trading.now(trading.table)  # commits that no rule has looked at
        trading.now(trading.rule_of_stocks)
        trading.now(trading.table)  # firings that wait
        if step != 1:
            trading.now(action)
        trading.now(trading.table)
    found = trading.drift(trading.table)
    assert (found.status, found.checked_rows, dict(found.details)) == ("pass", 3, {})


def test_a_wrong_action_is_found(trading: Trading) -> None:
    trading.begin()
    action = trading.action("compute", TWICE, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(trading.table)
    trading.now(action)
    found = trading.drift(trading.table)
    assert (found.status, found.violations, found.details["keys"]) == ("fail", 2, 2)
    assert found.details["key"] == '{"comp":"C1"}'
    with pytest.raises(DerivedDrift, match=r"2 rows of 3 rows differ.*C1.*16.0.*15.5"):
        trading.now(trading.table)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    found = trading.drift(trading.table)  # they wait again, and were wrong before that
    assert (found.status, found.violations) == ("fail", 2)
    warning = trading.derived("comp_prices", PRICES, key="comp", on_verify_failure="warn")
    assert str(trading.now(warning)) == "nothing new"
    rebuilt = trading.derived("comp_prices", PRICES, key="comp", on_verify_failure="rebuild")
    trading.now(rebuilt)
    trading.now(action)
    assert trading.drift(trading.table).status == "pass"
    unlooked = trading.derived("comp_prices", "select 1 as a", verify="off")
    assert unlooked.config.verify == "off"


@pytest.mark.parametrize("anew", [False, True])
def test_what_earlier_lives_of_an_action_have_done_is_no_drift(
    trading: Trading, anew: bool
) -> None:
    """A life begins behind what was done: by another unit of batching, by --full-refresh."""
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    if not anew:
        action = trading.action("compute", ADD, "do_comps", unique=True)
    assert str(trading.now(action, full_refresh=anew)) == "nothing due"
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    for _ in range(2):
        found = trading.drift(trading.table)
        assert (found.status, found.checked_rows, dict(found.details)) == ("pass", 3, {})
        trading.now(action)


def test_a_source_that_no_rule_looks_at_is_named(trading: Trading) -> None:
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.do("optimize {s}.comps_list")
    assert trading.drift(trading.table).status == "pass"
    trading.do("update {s}.comps_list set weight = 0.9 where comp = 'C3'")
    found = trading.drift(trading.table)
    assert (found.status, found.violations) == ("fail", 1)
    assert "comps_list changed, and no rule" in found.details["message"]


def test_rows_that_the_rule_does_not_look_at_are_drift(trading: Trading) -> None:
    """The rule waits for updates of a price: a stock that is new is nothing to it."""
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.do("insert into {s}.stocks values ('S3', 5)")
    trading.now(trading.rule_of_stocks)
    found = trading.drift(trading.table)
    assert (found.status, found.details["key"]) == ("fail", '{"comp":"C3"}')


def test_a_source_that_was_replaced_is_compared_all_the_same(trading: Trading) -> None:
    """Its rows went and came, and the rule waits for updates only."""
    trading.begin()
    action = trading.action("add", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    made = (
        f"create or replace table {{s}}.stocks (symbol string, price decimal(9,2)) {{how}} {FEED}"
    )
    trading.do(made.replace("{how}", "using delta"), "insert into {s}.stocks values ('S1', 5)")
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    with pytest.raises(DerivedDrift, match="rows differ"):
        trading.now(trading.table)


def test_a_batch_that_has_failed_is_left_out(trading: Trading) -> None:
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"], attempts=1)
    trading.now(action)
    half = ADD.replace("t.price + d.diff", "if(t.comp = 'C1', raise_error('no'), t.price + d.diff)")
    broken = trading.action("compute", half, "do_comps", unique_on=["comp"], attempts=2)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(broken)
    found = trading.drift(trading.table)
    assert (found.status, found.checked_rows) == ("pass", 2)


def test_what_an_action_reads_beside_its_batch_may_be_newer(trading: Trading) -> None:
    trading.begin()
    action = trading.action("compute", LOOKING, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.move("S1")  # the action sees it, the rule does not yet
    trading.now(action)
    found = trading.drift(trading.table)
    assert (found.status, found.checked_rows) == ("pass", 1)
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    found = trading.drift(trading.table)
    assert (found.status, found.checked_rows) == ("pass", 3)


def test_sums_of_doubles_differ_by_rounding(trading: Trading) -> None:
    trading.begin("double")
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    for by in ("+ 0.1", "* 3.3", "- 1e-3", "* 0"):
        trading.move("S1", by)
        trading.move("S2", by)
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    assert trading.rows("select * from {s}.comp_prices") != trading.rows(PRICES)
    assert trading.drift(trading.table).status == "pass"
    trading.do("update {s}.comp_prices set price = price + 1e-6 where comp = 'C3'")
    assert trading.drift(trading.table).violations == 1


def test_recompute_makes_rows_right_whatever_was_lost(trading: Trading) -> None:
    """Of the keys of the batch only; once more changes nothing."""
    trading.begin()
    action = trading.action("compute", trading.recompute, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.do(
        "update {s}.comp_prices set price = 0",
        "insert into {s}.comp_prices values ('C1', 7), ('C3', 7)",
        "delete from {s}.comp_prices where comp = 'C2'",
    )
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.move("S1")  # later than what the rule has looked at
    assert str(trading.now(action)) == "2 batches of 2 firings"
    found = trading.rows("select comp, cast(price as int) from {s}.comp_prices order by 1, 2")
    assert found == [("C1", 15), ("C2", 37), ("C3", 0), ("C3", 7)]
    found_ = trading.drift(trading.table)
    assert (found_.violations, found_.details["key"]) == (2, '{"comp":"C3"}')
    trading.now(trading.rule_of_stocks)
    before = len(trading.rows("describe history {s}.comp_prices"))
    trading.now(action)
    assert len(trading.rows("describe history {s}.comp_prices")) == before + 2
    assert trading.rows(
        "select comp, cast(price as decimal(9, 1)) from {s}.comp_prices where comp <> 'C3'"
        " order by comp"
    ) == trading.rows(
        f"select comp, cast(price as decimal(9, 1)) from ({PRICES}) where comp <> 'C3'"
        " order by comp"
    )


def test_a_key_that_is_gone_goes_and_one_that_comes_comes(trading: Trading) -> None:
    trading.begin()
    rule = trading.rule(
        "moves", "select comp from {s}.comps_list join (select symbol from deleted union all"
        " select symbol from inserted) using (symbol)", "stocks", when=["inserted", "deleted"],
    )  # fmt: skip
    action = trading.action("compute", trading.recompute, "moves", unique=True)
    trading.now(rule)
    trading.now(action)
    trading.do("delete from {s}.stocks where symbol = 'S3'")
    trading.now(rule)
    trading.now(action)
    assert trading.rows("select comp from {s}.comp_prices order by comp") == [("C1",), ("C2",)]
    trading.do("insert into {s}.stocks values ('S3', 4)")
    trading.now(rule)
    trading.now(action)
    assert (trading.drift(trading.table).status, trading.drift(trading.table).checked_rows) == (
        "pass", 3,
    )  # fmt: skip


def test_somebody_elses_commits_are_told(trading: Trading) -> None:
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    trading.do("optimize {s}.comp_prices")
    assert str(trading.now(trading.table)) == "nothing new"
    trading.do("update {s}.comp_prices set price = price where comp = 'C3'")
    with pytest.raises(TargetChanged, match="is UPDATE, which none of the actions"):
        trading.now(trading.table)
    warned = trading.derived("comp_prices", PRICES, key="comp", on_target_change="warn")
    assert "is UPDATE" in trading.planned(warned).told.warnings[0]
    trading.now(trading.table, full_refresh=True)
    assert str(trading.now(trading.table)) == "nothing new"


def test_a_table_that_is_built_again_absorbs_what_waits(trading: Trading) -> None:
    trading.begin()
    never = ADD.replace("t.price + d.diff", "if(d.diff = 0, 0, raise_error('no'))")
    broken = trading.action(
        "compute", never, "do_comps", unique_on=["comp"], attempts=1, on_dead="block"
    )
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"], on_dead="block")
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    with pytest.raises(ActionFailed):
        trading.now(broken)
    trading.move("S3")
    trading.now(trading.rule_of_stocks)
    trading.now(trading.table, full_refresh=True)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    assert str(trading.now(action)) == "2 batches of 2 firings"
    assert trading.drift(trading.table).status == "pass"
    told = trading.rows(
        "select key, firings from {s}.tapestry_batches where event = 'absorbed' order by key, m"
    )
    assert told == [(None, 1), ('["C1"]', 1), ('["C2"]', 1)]
    assert str(trading.now(action)) == "nothing due"


def test_tables_of_different_baselines(trading: Trading) -> None:
    """Firings between them are in the one and not in the other."""
    trading.begin()
    trading.now(other := trading.derived("others", PRICES))
    both = ADD + "; " + ADD.replace("comp_prices", "others")
    action = trading.action("compute", both, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(other, full_refresh=True)
    with pytest.raises(BaselineGap, match="built from different versions"):
        trading.now(action)
    trading.now(trading.table, full_refresh=True)
    assert str(trading.now(action)) == "nothing due"
    assert trading.drift(trading.table).status == "pass"


@pytest.mark.parametrize("keep", ["7 days", "0 seconds"])
def test_a_rule_that_is_built_again_needs_the_table_built_again(
    trading: Trading, keep: str
) -> None:
    trading.keep = keep
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    trading.now(action)
    again = trading.rule("do_comps", COMPS, "stocks", when="updated price", key="symbol", begin="2")
    trading.now(again, full_refresh=True)
    with pytest.raises(BaselineGap, match="was built again"):
        trading.now(action)
    trading.now(trading.table, full_refresh=True)
    assert str(trading.now(action)) == "nothing due"
    assert trading.drift(trading.table).status == "pass"


def test_a_rule_that_comes_later_begins_at_the_baseline(trading: Trading) -> None:
    trading.begin()
    trading.move("S1")
    late = trading.rule("late", COMPS, "stocks", when="updated price", key="symbol")
    trading.now(replace(late, fed=(trading.table.relation,)))
    action = trading.action("compute", ADD, "late", unique_on=["comp"])
    assert str(trading.now(action)) == "2 batches of 2 firings"
    assert trading.drift(trading.table).status == "pass"


@pytest.mark.parametrize("waits", [False, True])
def test_changes_that_are_gone_are_made_up_for(trading: Trading, waits: bool) -> None:
    """The table is built again behind them; what waited before, or came since, counts once."""
    trading.begin()
    how = {"when": "updated price", "key": "symbol", "on_changes_gone": "rebuild"}
    rule = trading.rule("do_comps", COMPS, "stocks", **how, on_query_change="continue")
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(rule)
    trading.now(action)
    trading.move("S1")
    trading.now(rule)
    if not waits:
        trading.now(action)
    off = "alter table {s}.stocks set tblproperties ('delta.enableChangeDataFeed' = false)"
    trading.do(off)
    trading.move("S2")
    trading.do(off.replace("false", "true"))
    trading.now(rule)
    assert str(trading.now(action)) == "nothing due"
    trading.move("S2", "+ 5")
    trading.now(rule)
    assert str(trading.now(action)) == "nothing due"
    trading.now(trading.table)
    trading.move("S1", "+ 7")
    trading.now(rule)
    assert str(trading.now(action)) == "2 batches of 2 firings"
    assert trading.drift(trading.table).status == "pass"
