"""The batches of a made-up market that close by the clock are those of the simulator, exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from benchmarks.trading.units import CONFIGS, UNITS, batches_of, comps_bound
from tests import seeds
from tests.spark.rule_world import Rules

from tapestry.demo.trading.market import SECOND, Market, MarketPlan, make_market
from tapestry.demo.trading.seeds import dollars, seed_rows, symbol
from tapestry.runs.kinds.action.waiting import WaitingFirings

pytestmark = pytest.mark.more

OPENING = datetime(2026, 1, 5, 14, 30, tzinfo=timezone.utc)
LOG = {
    "changes": "log", "transaction": "tx", "commit_time": "at", "op": "op", "key": "symbol",
    "before": "old_", "begin": "0", "states": {"comps_list": "run"}, "after": "1 second",
}  # fmt: skip
DO_COMPS = (
    "select comps_list.comp, comps_list.symbol, weight, old.price as old_price,"
    " new.price as new_price from {s}.comps_list, new, old"
    " where comps_list.symbol = new.symbol and new.execute_order = old.execute_order"
)
Facts = Counter[tuple[int, int, int]]
"""Of each batch: its release, in microseconds since the opening, its firings, and its rows."""


@pytest.fixture
def market() -> Market:
    """Whole tenths of seconds: many changes come just at a release, or at once."""
    made = make_market(
        MarketPlan(stocks=20, changes=240, seconds=40, composites=7, members=6, seed=seeds.seed())
    )
    made.at[:] = made.at // (SECOND // 10) * (SECOND // 10)
    return made


def loaded(world: Rules, market: Market) -> None:
    """The log of the changes, in four commits, and the composites."""
    world.do(
        "create table {s}.comps_list (comp string, symbol string, weight decimal(5, 2))"
        " using delta",
        "create table {s}.changes (tx bigint, at timestamp, op string, symbol string,"
        " price decimal(10, 3), old_price decimal(10, 3)) using delta",
        "create table {s}.seen (comp string, n bigint) using delta",
    )
    members = [f"('{comp}', '{name}', {weight})"
               for comp, name, weight in seed_rows(market)["comps_list"]]  # fmt: skip
    world.do(f"insert into {{s}}.comps_list values {', '.join(members)}")
    rows = [
        f"({tx}, timestamp'{OPENING + timedelta(microseconds=int(at))}', 'update',"
        f" '{symbol(stock)}', {dollars(new)}, {dollars(old)})"
        for tx, (at, stock, old, new) in enumerate(
            zip(market.at, market.stock, market.old, market.new, strict=True)
        )
    ]
    for place in range(0, len(rows), 60):
        world.do(f"insert into {{s}}.changes values {', '.join(rows[place : place + 60])}")


def simulated(market: Market, unit: str, delay: float) -> Facts:
    """The batches of the simulator."""
    rows = comps_bound(market)
    batches = batches_of(market, rows, unit, delay)
    changes: dict[int, set[int]] = {}
    for batch, change in zip(batches.of_row.tolist(), rows.change.tolist(), strict=True):
        changes.setdefault(batch, set()).add(change)
    counts = Counter(batches.of_row.tolist())
    return Counter(
        (release, len(changes[number]), counts[number])
        for number, release in enumerate(batches.release.tolist())
    )


def formed(waiting: WaitingFirings, unit: str, delay: float) -> Facts:
    """The batches of the product."""
    asked = replace(
        waiting,
        config=replace(waiting.config, **CONFIGS[unit]),
        rules=[replace(rule, after=timedelta(seconds=delay)) for rule in waiting.rules],
    )
    rows = asked.session.rows(
        f"{asked.done()}SELECT unix_micros(release), firings, rows FROM ({asked.formed()})"
    )
    opening = round(OPENING.timestamp() * SECOND)
    return Counter((int(release) - opening, int(n), int(bound)) for release, n, bound in rows)


def test_batches_by_the_clock_are_the_simulator_s(
    session: Any, schema: str, market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch has the release, the firings and the rows of one of the simulator, and conversely;
    then those of one unit are executed, and are as many."""
    world = Rules(session, schema)
    loaded(world, market)
    rule = world.rule("do_comps", DO_COMPS, "changes", when="updated price", **LOG)
    action = world.action(
        "act", "insert into {s}.seen select first(comp), count(*) from matches", "do_comps",
        unique=True, batching="by_clock",
    )  # fmt: skip
    world.now(rule)
    due, found = WaitingFirings.due, []

    def watched(waiting: WaitingFirings, *given: Any) -> Any:
        if not found:
            found.append({(u, d): formed(waiting, u, d) for u in UNITS for d in (0.0, 0.5, 1, 3)})
        return due(waiting, *given)

    monkeypatch.setattr(WaitingFirings, "due", watched)
    world.now(action)
    for (unit, delay), batches in found[0].items():
        if (unit == "none") == (delay == 0):  # without a key nothing waits
            assert batches == simulated(market, unit, delay), (unit, delay)
    executed = world.rows("select n, count(*) from {s}.seen group by n")
    wanted = Counter(rows for _, _, rows in simulated(market, "unique", 1.0).elements())
    assert Counter({int(n): int(times) for n, times in executed}) == wanted
