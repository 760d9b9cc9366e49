"""Which batches each unit of batching makes of the changes of a market, for a delay.

A batch opens with the first change of its key and takes what comes before its release, that moment
plus the delay; a change at or after it opens the next one, as if a processor stood ready.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapestry.demo.trading.market import SECOND, Ints, Market

UNITS = ("none", "unique", "symbol", "target")
"""One batch a transaction; one of all that waits; one a stock; one a composite (or option)."""
DELAYS = (0.5, 1.0, 2.0, 3.0)
CONFIGS: dict[str, dict[str, Any]] = {
    "none": {"unique": False, "unique_on": ()},
    "unique": {"unique": True, "unique_on": ()},
    "symbol": {"unique": False, "unique_on": ("symbol",)},
    "target": {"unique": False, "unique_on": ("comp",)},
}
"""The unit as the keys of an action over comp_prices."""


@dataclass(frozen=True)
class BoundRows:
    """The rows that a rule binds, in order of time: a row for each change and target of its stock.

    change
        The number of the change.
    target
        The composite, or the option, that has the stock.
    pair
        The place of target and stock in the list of such pairs.
    """

    change: Ints
    target: Ints
    pair: Ints

    def __len__(self) -> int:
        return len(self.change)


@dataclass(frozen=True)
class UnitBatches:
    """The batches of a unit: which row is in which.

    of_row
        The batch of each bound row; batches are numbered in the order of their release.
    release
        Of each batch, in microseconds.
    """

    of_row: Ints
    release: Ints

    def __len__(self) -> int:
        return len(self.release)

    def written(self, rows: BoundRows) -> int:
        """How many rows all actions write, each row once a batch."""
        if not len(rows):
            return 0
        place = self.of_row * (int(rows.target.max()) + 1) + rows.target
        return len(np.unique(place))


def comps_bound(market: Market) -> BoundRows:
    """The rows that do_comps binds."""
    comps = np.repeat(np.arange(market.plan.composites), market.plan.members)
    return bound(market, market.members.ravel(), comps)


def options_bound(market: Market) -> BoundRows:
    """The rows that do_options binds."""
    return bound(market, market.option_stock, np.arange(market.plan.options))


def bound(market: Market, stock_of_pair: Ints, target_of_pair: Ints) -> BoundRows:
    """Each change with each pair of its stock."""
    pairs = np.argsort(stock_of_pair, kind="stable")
    counts = np.bincount(stock_of_pair, minlength=market.plan.stocks)
    begins = np.cumsum(counts) - counts
    times = counts[market.stock]
    change = np.repeat(np.arange(len(market.stock)), times)
    nth = np.arange(len(change)) - np.repeat(np.cumsum(times) - times, times)
    pair = pairs[begins[market.stock][change] + nth]
    return BoundRows(change, target_of_pair[pair], pair)


def batches_of(market: Market, rows: BoundRows, unit: str, delay: float) -> UnitBatches:
    """The batches of a unit; ``none`` waits for nothing."""
    at, waits = market.at[rows.change], round(delay * SECOND)
    if unit == "none":
        _, of_row = np.unique(rows.change, return_inverse=True)
        return UnitBatches(of_row, market.at[np.unique(rows.change)])
    keys = {"unique": np.zeros_like(rows.change), "symbol": market.stock[rows.change],
            "target": rows.target}  # fmt: skip
    return _windows(at, keys[unit], waits)


def _windows(at: Ints, key: Ints, waits: int) -> UnitBatches:
    """The batches of rows in order of time, for one key each."""
    if not len(at):
        return UnitBatches(at, at)
    order = np.lexsort((at, key))
    place = key[order] * (int(at.max()) + waits + 1) + at[order]
    following = np.searchsorted(place, place + waits)
    firsts = np.flatnonzero(np.diff(key[order], prepend=-1))
    ends = np.append(firsts[1:], len(at))
    opens = np.zeros(len(at), dtype=bool)
    while len(firsts):  # the n-th batch of every key at once
        opens[firsts] = True
        after = following[firsts]
        goes_on = after < ends
        firsts, ends = after[goes_on], ends[goes_on]
    of_row = np.empty(len(at), dtype=np.int64)
    of_row[order] = np.cumsum(opens) - 1
    release = at[order][opens] + waits
    by_release = np.argsort(release, kind="stable")  # for one release the least key comes first
    number = np.empty_like(by_release)
    number[by_release] = np.arange(len(by_release))
    return UnitBatches(number[of_row], release[by_release])
