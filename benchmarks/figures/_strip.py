"""The parts that figures 9 to 13 of STRIP share: sizes, what is measured, what is kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks.common import load, save
from benchmarks.trading.held import Found, Held, report
from benchmarks.trading.in_memory import Application, composites, measure, options
from benchmarks.trading.units import DELAYS, UNITS, batches_of, comps_bound
from tapestry.demo.trading.market import Market, MarketPlan, make_market

COUNTS, COMPS, OPTIONS = "strip_counts", "strip_comps", "strip_options"
"""The kept results: figure 10; figures 9 and 11; figures 12 and 13."""
TABLES: dict[str, Callable[[Market], Application]] = {COMPS: composites, OPTIONS: options}


def plan_of(scale: float) -> MarketPlan:
    """The paper's market, or a part of its stocks and changes in a part of its time."""
    whole = MarketPlan()
    return MarketPlan(
        stocks=round(whole.stocks * scale), changes=round(whole.changes * scale),
        composites=round(whole.composites * scale), options=round(whole.options * scale),
    )  # fmt: skip


def facts(plan: MarketPlan) -> dict[str, Any]:
    """The sizes of a market, as they are kept with its numbers."""
    return {name: getattr(plan, name) for name in plan.__dataclass_fields__}


def count(scale: float) -> Found:
    """The batches of each unit and delay over comp_prices: figure 10."""
    market = make_market(plan_of(scale))
    rows, found = comps_bound(market), {}
    for unit in UNITS:
        found[unit] = {}
        for delay in (0.0,) if unit == "none" else DELAYS:
            batches = batches_of(market, rows, unit, delay)
            found[unit][f"{delay:g}"] = {"batches": len(batches), "rows": batches.written(rows)}
    save(COUNTS, {"plan": facts(market.plan), "found": found})
    return found


def measured(name: str, scale: float, rounds: int, again: bool) -> Found:
    """The actions of one table in main memory: measured, or what was kept of that."""
    kept = None if again else load(name)
    if kept is not None:
        return dict(kept["found"])
    market = make_market(plan_of(scale))
    found = measure(market, TABLES[name](market), rounds=rounds)
    save(name, {"plan": facts(market.plan), "rounds": rounds, "found": found})
    return found


def main(
    said: str | None, found: Callable[[float, int], Found], held: Callable[[Found], list[Held]]
) -> None:
    """Measure one figure from the command line, and say what of it holds."""
    parser = argparse.ArgumentParser(description=said)
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the paper's sizes")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    arguments = parser.parse_args()
    report(held(found(arguments.scale, arguments.rounds)))
