"""Every unit of batching leaves the same tables in main memory: those of their definitions."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.trading.in_memory import (
    RATE,
    Batch,
    TableDiffers,
    black_scholes,
    composites,
    measure,
    options,
)

from tapestry.demo.trading.market import Market, MarketPlan, make_market


@pytest.fixture(scope="module")
def market() -> Market:
    return make_market(
        MarketPlan(stocks=60, changes=900, seconds=40, composites=9, members=20, options=150)
    )


def test_composites_are_right_in_every_unit(market: Market) -> None:
    found = measure(market, composites(market), delays=(0.5, 3.0), rounds=1)
    assert list(found) == ["none", "unique", "symbol", "target"]
    assert found["unique"]["3"]["batches"] <= 14
    assert found["target"]["3"]["rows"] == found["target"]["3"]["batches"]
    assert (
        found["none"]["0"]["rows"] > found["unique"]["0.5"]["rows"] > found["unique"]["3"]["rows"]
    )


def test_options_are_right_in_every_unit(market: Market) -> None:
    found = measure(market, options(market), delays=(3.0,), rounds=1)
    assert found["symbol"]["3"]["rows"] <= found["unique"]["3"]["rows"] < found["none"]["0"]["rows"]


def test_a_wrong_action_is_noticed(market: Market) -> None:
    """An action that leaves a row out leaves a table that is not its definition's."""
    whole = composites(market)

    def all_but_one(connection: sqlite3.Connection, matches: Batch) -> None:
        whole.actions["unique"](connection, matches[1:])

    with pytest.raises(TableDiffers, match="unique"):
        measure(market, replace(whole, actions={"unique": all_but_one}), (1.0,), 1)


def test_black_scholes() -> None:
    """A price is what the option is worth on average when it expires, in today's money."""
    price, strike, years, stdev = 42 * 8, 40 * 8, 0.5, 0.2
    z = np.linspace(-9, 9, 200_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    drift = (RATE - stdev**2 / 2) * years
    then = np.maximum(price * np.exp(drift + stdev * np.sqrt(years) * z) - strike, 0)
    expected = np.exp(-RATE * years) * np.sum(then * density) * (z[1] - z[0])
    assert black_scholes(price, strike, years, stdev) == pytest.approx(expected, rel=1e-6)
