"""The made-up market is the same each time, and has the shape of the STRIP paper's data."""

from __future__ import annotations

import numpy as np
import pytest

from tapestry.demo.trading.market import SECOND, SPREAD, Market, MarketPlan, make_market

SMALL = MarketPlan(stocks=300, changes=3_000, seconds=90, composites=20, members=30, options=900)


@pytest.fixture(scope="module")
def market() -> Market:
    """The market of the paper's size."""
    return make_market()


def test_a_seed_makes_one_market() -> None:
    first, again, other = (make_market(MarketPlan(stocks=50, changes=99, members=9, seed=seed))
                           for seed in (1, 1, 2))  # fmt: skip
    for name in ("at", "stock", "old", "new", "members", "weight", "strike", "stdev"):
        assert (getattr(first, name) == getattr(again, name)).all()
        assert (getattr(first, name) != getattr(other, name)).any(), name


def test_the_sizes_are_those_of_the_paper(market: Market) -> None:
    assert len(market.first) == len(market.stdev) == 6_600
    assert len(market.at) == len(market.stock) == len(market.old) == len(market.new) == 60_000
    assert market.members.shape == market.weight.shape == (400, 200)
    assert len(market.option_stock) == len(market.strike) == len(market.years) == 50_000


@pytest.mark.parametrize("plan", [SMALL, MarketPlan()], ids=["small", "whole"])
def test_changes_are_in_order_of_time(plan: MarketPlan) -> None:
    market = make_market(plan)
    assert (np.diff(market.at) >= 0).all()
    assert market.at[0] >= 0
    assert market.at[-1] < plan.seconds * SECOND


def test_each_change_follows_the_one_before(market: Market) -> None:
    """A price moves by a tick, from where the stock's last change has left it."""
    assert (np.abs(market.new - market.old) == 1).all()
    prices = market.first.copy()
    for stock, old, new in zip(market.stock, market.old, market.new, strict=True):
        assert prices[stock] == old
        prices[stock] = new
    assert (prices == market.last).all()
    assert (np.abs(market.new - market.first[market.stock]) <= SPREAD).all()
    assert market.new.min() > 0


def test_activity_falls_with_the_root_of_the_rank(market: Market) -> None:
    """The first hundredth of the stocks has about a tenth of the changes."""
    counts = np.bincount(market.stock, minlength=6_600)
    assert 0.07 < counts[:66].sum() / 60_000 < 0.12
    shares = [counts[begin : begin + 660].sum() for begin in range(0, 6_600, 660)]
    assert shares[0] > 2.5 * shares[1] * 0.9
    assert shares == sorted(shares, reverse=True)


def test_changes_come_in_bursts(market: Market) -> None:
    """Of all changes about a quarter follow one of the same stock within three seconds."""
    order = np.lexsort((market.at, market.stock))
    same = np.diff(market.stock[order]) == 0
    close = np.diff(market.at[order]) < 3 * SECOND
    share = (same & close).sum() / 60_000
    alone = make_market(MarketPlan(burst=1.0))
    order = np.lexsort((alone.at, alone.stock))
    without = ((np.diff(alone.stock[order]) == 0) & (np.diff(alone.at[order]) < 3 * SECOND)).sum()
    assert 0.2 < share < 0.35
    assert without / 60_000 < 0.1


def test_a_composite_has_a_stock_once(market: Market) -> None:
    assert (np.diff(market.members, axis=1) > 0).all()
    counts = np.bincount(market.members.ravel(), minlength=6_600)
    assert counts[:66].mean() > 3 * counts.mean()


def test_active_stocks_have_more_options(market: Market) -> None:
    counts = np.bincount(market.option_stock, minlength=6_600)
    assert 0.07 < counts[:66].sum() / 50_000 < 0.12
    assert market.strike.min() > 0
    assert market.years.min() > 0


def test_a_market_without_changes() -> None:
    quiet = make_market(MarketPlan(stocks=20, changes=0, composites=2, members=5, options=3))
    assert len(quiet.at) == 0
    assert (quiet.last == quiet.first).all()
