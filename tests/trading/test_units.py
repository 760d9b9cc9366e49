"""The batches of each unit are those that a literal, event by event execution makes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.trading.units import (
    UNITS,
    BoundRows,
    batches_of,
    bound,
    comps_bound,
    options_bound,
)
from tests import seeds

from tapestry.demo.trading.market import SECOND, Market, MarketPlan, make_market

Made = list[tuple[int, tuple[int, ...]]]
"""Batches in order of release: when, and the numbers of its rows."""


def literally(market: Market, rows: BoundRows, unit: str, delay: float) -> Made:
    """Go through the changes; a batch that is due is closed before the next change is looked at."""
    waits, pending, closed = round(delay * SECOND), {}, []
    for change in range(len(market.at)):
        now = int(market.at[change])
        for key, (release, _) in list(pending.items()):
            if release <= now:
                closed.append((release, key, tuple(pending.pop(key)[1])))
        mine = [n for n in range(len(rows)) if rows.change[n] == change]
        if unit == "none":
            if mine:
                closed.append((now, (change,), tuple(mine)))
            continue
        for row in mine:
            key = {"unique": (), "symbol": (int(market.stock[change]),),
                   "target": (int(rows.target[row]),)}[unit]  # fmt: skip
            pending.setdefault(key, (now + waits, []))[1].append(row)
    closed += [(release, key, tuple(found)) for key, (release, found) in pending.items()]
    return [(release, found) for release, _, found in sorted(closed)]


def simulated(market: Market, rows: BoundRows, unit: str, delay: float) -> Made:
    batches = batches_of(market, rows, unit, delay)
    return [
        (int(release), tuple(np.flatnonzero(batches.of_row == number).tolist()))
        for number, release in enumerate(batches.release)
    ]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("bind", [comps_bound, options_bound])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_happens_literally(
    seed: int, bind: Callable[[Market], BoundRows], unit: str
) -> None:
    """Times are whole tenths of seconds: many changes come just at a release, or at once."""
    plan = MarketPlan(stocks=12, changes=120, seconds=30, composites=4, members=5, options=20,
                      seed=seeds.seed() + seed)  # fmt: skip
    market = make_market(plan)
    market.at[:] = market.at // (SECOND // 10) * (SECOND // 10)
    rows = bind(market)
    for delay in (0.1, 0.5, 1.0, 3.0):
        assert simulated(market, rows, unit, delay) == literally(market, rows, unit, delay)


def test_a_change_at_the_release_opens_the_next_batch() -> None:
    market = make_market(MarketPlan(stocks=1, changes=3, composites=1, members=1, options=1))
    market.at[:] = [0, SECOND - 1, SECOND]
    rows = comps_bound(market)
    assert simulated(market, rows, "unique", 1) == [(SECOND, (0, 1)), (2 * SECOND, (2,))]


def test_a_stock_of_nothing_makes_no_batch() -> None:
    market = make_market(MarketPlan(stocks=5, changes=9, composites=1, members=1, options=1))
    none = np.zeros(0, dtype=np.int64)
    rows = bound(market, none, none)
    for unit in UNITS:
        batches = batches_of(market, rows, unit, 1.0)
        assert len(rows) == len(batches) == batches.written(rows) == 0


def test_rows_that_are_written_count_once_a_batch() -> None:
    market = make_market(MarketPlan(stocks=1, changes=6, seconds=1, composites=3, members=1))
    rows = comps_bound(market)
    written = [batches_of(market, rows, unit, 2.0).written(rows) for unit in UNITS]
    assert written == [18, 3, 3, 3]
    assert [len(batches_of(market, rows, unit, 2.0)) for unit in UNITS] == [6, 1, 1, 3]
