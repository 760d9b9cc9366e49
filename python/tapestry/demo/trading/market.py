"""A seeded stock market in the image of the STRIP paper's: its prices change in bursts.

>>> market = make_market(MarketPlan(stocks=50, changes=400, composites=4, members=10, options=90))
>>> len(market.at), market.members.shape, len(market.option_stock)
(400, (4, 10), 90)

The paper took the quotes of half an hour of January 1994. Here a stock is chosen by its activity,
rank^-0.5; it changes once or a few times, with gaps of a second on average, by a tick of an eighth
of a dollar each time. Composites and options choose their stocks by the same activity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SECOND = 1_000_000
"""Microseconds: all times are whole numbers of them."""
TICKS = 8
"""The number of ticks in a dollar: prices are whole numbers of ticks."""
SPREAD = 64
"""A price stays this many ticks around its first one at most."""


@dataclass(frozen=True)
class MarketPlan:
    """The sizes of a market; the paper's are the defaults."""

    stocks: int = 6_600
    changes: int = 60_000
    seconds: int = 1_800
    composites: int = 400
    members: int = 200
    options: int = 50_000
    skew: float = 0.5  # a stock's activity is rank to the power of minus this
    burst: float = 1.3  # changes of a stock in a row, on average
    gap: float = 1.0  # seconds between them, on average
    seed: int = 1997


@dataclass(frozen=True)
class Market:
    """A market: stocks, what is made of them, and each change of a price in order of time.

    first
        The first price of each stock, in ticks.
    stdev
        Of each stock: the standard deviation of its yearly rate of return.
    at, stock, old, new
        Of each change: microseconds since the beginning, the stock, its price before and after it.
    members, weight
        A row a composite: its stocks, and the hundredths that each counts.
    option_stock, strike, years
        Of each option: its stock, its strike in ticks, the years until it expires.
    """

    plan: MarketPlan
    first: Ints
    stdev: Floats
    at: Ints
    stock: Ints
    old: Ints
    new: Ints
    members: Ints
    weight: Ints
    option_stock: Ints
    strike: Ints
    years: Floats

    @property
    def last(self) -> Ints:
        """The price of each stock after all changes."""
        prices: Ints = self.first.copy()
        prices[self.stock] = self.new  # of several changes of one stock the last one stays
        return prices


def make_market(plan: MarketPlan | None = None) -> Market:
    """Return a market, always the same for the same plan."""
    plan = plan or MarketPlan()
    rng = np.random.Generator(np.random.PCG64(plan.seed))
    activity = _activity(plan)
    first = rng.integers(10 * TICKS, 100 * TICKS, plan.stocks)
    at, stock = _bursts(rng, plan, activity)
    old, new = _prices(rng, first, stock)
    members = _members(rng, plan, activity)
    option_stock = np.sort(rng.choice(plan.stocks, plan.options, p=activity))
    return Market(
        plan,
        first,
        np.round(rng.uniform(0.1, 0.6, plan.stocks), 3),
        at,
        stock,
        old,
        new,
        members,
        rng.integers(1, 300, members.shape),
        option_stock,
        np.maximum(first[option_stock] + TICKS * rng.integers(-8, 9, plan.options), TICKS),
        np.round(rng.integers(1, 271, plan.options) / 365, 4),
    )


def _activity(plan: MarketPlan) -> Floats:
    """The share of each stock in the changes."""
    weights = np.arange(1, plan.stocks + 1, dtype=np.float64) ** -plan.skew
    return np.asarray(weights / weights.sum())


def _bursts(rng: np.random.Generator, plan: MarketPlan, activity: Floats) -> tuple[Ints, Ints]:
    """Times and stocks of all changes, in order of time; a burst goes on at the beginning where it
    reaches over the end."""
    if not plan.changes:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    lengths = rng.geometric(1 / plan.burst, plan.changes)
    count = int(np.searchsorted(np.cumsum(lengths), plan.changes)) + 1
    burst = np.repeat(np.arange(count), lengths[:count])[: plan.changes]
    opens = np.diff(burst, prepend=-1) > 0
    gaps = np.where(opens, 0.0, rng.exponential(plan.gap, plan.changes))
    since = np.cumsum(gaps)
    since -= since[opens][burst]
    begins = rng.uniform(0, plan.seconds, count)[burst]
    at = ((begins + since) * SECOND).astype(np.int64) % (plan.seconds * SECOND)
    stock = rng.choice(plan.stocks, count, p=activity)[burst]
    order = np.argsort(at, kind="stable")
    return at[order], stock[order]


def _prices(rng: np.random.Generator, first: Ints, stock: Ints) -> tuple[Ints, Ints]:
    """The price before and after each change: a tick up or down, and back at the far ends."""
    order = np.argsort(stock, kind="stable")
    steps = rng.choice(np.array([-1, 1]), len(stock))
    walked = np.cumsum(steps)
    opens = np.diff(stock[order], prepend=-1) > 0
    group = np.cumsum(opens) - 1
    walked -= (walked - steps)[opens][group]
    base = first[stock[order]]
    old, new = np.empty_like(walked), np.empty_like(walked)
    new[order] = base + _folded(walked)
    old[order] = base + _folded(walked - steps)
    return old, new


def _folded(walked: Ints) -> Ints:
    """A walk that turns back at SPREAD on both sides."""
    return np.asarray(SPREAD - np.abs((walked - SPREAD) % (4 * SPREAD) - 2 * SPREAD)) * -1


def _members(rng: np.random.Generator, plan: MarketPlan, activity: Floats) -> Ints:
    """Stocks of each composite, drawn one after the other by activity, none of them twice."""
    races = rng.exponential(size=(plan.composites, plan.stocks)) / activity
    return np.sort(np.argpartition(races, plan.members - 1, axis=1)[:, : plan.members], axis=1)
