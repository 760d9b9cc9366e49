"""The actions of the paper over a table in main memory: sqlite, one transaction a batch.

What is timed is the action: it goes through the bound rows of its batch, computes, and writes. The
batches are made beforehand, as a rule would hand them over. As in the paper's functions each row is
an UPDATE of its own. Prices are whole numbers (ticks, and
hundredths of them), so that a table can be compared with its definition to the last digit.
"""

from __future__ import annotations

import gc
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.trading.units import (
    DELAYS,
    BoundRows,
    UnitBatches,
    batches_of,
    comps_bound,
    options_bound,
)
from tapestry.demo.trading.market import Market

Batch = Sequence[tuple[Any, ...]]
Action = Callable[[sqlite3.Connection, Batch], None]
WRITE_COMP = "UPDATE comp_prices SET price = price + ? WHERE comp = ?"
WRITE_OPTION = "UPDATE option_prices SET price = ? WHERE option_symbol = ?"
READ_STDEV = "SELECT stdev FROM stock_stdev WHERE symbol = ?"
RATE = 0.05


class TableDiffers(AssertionError):
    """A table is not what its definition says."""


@dataclass(frozen=True)
class Application:
    """One derived table of the paper.

    actions
        By unit of batching, what is done with a batch.
    """

    rows: BoundRows
    given: list[tuple[Any, ...]]
    actions: dict[str, Action]
    connect: Callable[[Market], sqlite3.Connection]
    definition: Callable[[Market], list[tuple[int, float]]]
    shown: str


def each_row(connection: sqlite3.Connection, matches: Batch) -> None:
    """compute_comps1: each row of matches is a change of a composite."""
    for comp, weight, old, new in matches:
        connection.execute(WRITE_COMP, ((new - old) * weight, comp))


def by_comp(connection: sqlite3.Connection, matches: Batch) -> None:
    """compute_comps2: the changes of each composite are added up, and written once."""
    diff: dict[int, int] = {}
    for comp, weight, old, new in matches:
        diff[comp] = diff.get(comp, 0) + (new - old) * weight
    for comp, change in diff.items():
        connection.execute(WRITE_COMP, (change, comp))


def one_comp(connection: sqlite3.Connection, matches: Batch) -> None:
    """compute_comps3: all rows are of one composite."""
    change = 0
    for _comp, weight, old, new in matches:
        change += (new - old) * weight
    connection.execute(WRITE_COMP, (change, matches[0][0]))


def each_option(connection: sqlite3.Connection, matches: Batch) -> None:
    """compute_options1: each row of matches is a price to be computed."""
    for option, stock, strike, years, price in matches:
        ((stdev,),) = connection.execute(READ_STDEV, (stock,))
        connection.execute(WRITE_OPTION, (black_scholes(price, strike, years, stdev), option))


def last_of_option(connection: sqlite3.Connection, matches: Batch) -> None:
    """The same for the last row of each option alone."""
    each_option(connection, list({row[0]: row for row in matches}.values()))


def black_scholes(price: int, strike: int, years: float, stdev: float) -> float:
    """The theoretical price of a call, in ticks, of one option as in the paper."""
    spread = stdev * math.sqrt(years)
    d1 = (math.log(price / strike) + (RATE + stdev * stdev / 2) * years) / spread
    return price * _normal(d1) - strike * math.exp(-RATE * years) * _normal(d1 - spread)


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def composites(market: Market) -> Application:
    """comp_prices, and its three units of batching."""
    rows = comps_bound(market)
    columns = (
        rows.target, market.weight.ravel()[rows.pair],
        market.old[rows.change], market.new[rows.change],
    )  # fmt: skip
    actions = {"none": each_row, "unique": by_comp, "symbol": by_comp, "target": one_comp}
    given = list(zip(*(column.tolist() for column in columns), strict=True))
    return Application(
        rows, given, actions, _comps_table, _comps_of_now, "SELECT * FROM comp_prices ORDER BY comp"
    )


def options(market: Market) -> Application:
    """option_prices; a batch for each option would be too many, says the paper."""
    rows = options_bound(market)
    stock = market.option_stock[rows.target]
    columns = (
        rows.target, stock, market.strike[rows.target], market.years[rows.target],
        market.new[rows.change],
    )  # fmt: skip
    actions = {"none": each_option, "unique": last_of_option, "symbol": last_of_option}
    given = list(zip(*(column.tolist() for column in columns), strict=True))
    shown = "SELECT * FROM option_prices ORDER BY option_symbol"
    return Application(rows, given, actions, _options_table, _options_of_now, shown)


def measure(
    market: Market, application: Application, delays: Sequence[float] = DELAYS, rounds: int = 3
) -> dict[str, dict[str, dict[str, Any]]]:
    """Unit -> delay -> batches, rows written, processor seconds: the best of some rounds.

    Raises TableDiffers where a table is not right at the end.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for unit in application.actions:
        found[unit] = {}
        for delay in (0.0,) if unit == "none" else delays:
            batches = batches_of(market, application.rows, unit, delay)
            seconds = [run(market, application, unit, batches) for _ in range(rounds)]
            found[unit][f"{delay:g}"] = {
                "batches": len(batches),
                "rows": batches.written(application.rows),
                "cpu": round(min(seconds), 4),
                "length": min(seconds) / max(len(batches), 1),
                "rounds": [round(one, 4) for one in seconds],
            }
            print(unit, delay, found[unit][f"{delay:g}"], flush=True)
    return found


def run(market: Market, application: Application, unit: str, batches: UnitBatches) -> float:
    """Processor seconds of all actions of a unit, one after the other in order of release."""
    listed = list(matches_of(application, batches))
    connection, action = application.connect(market), application.actions[unit]
    gc.collect()
    gc.disable()  # of the batches nothing is garbage
    try:
        began = time.process_time()
        for matches in listed:
            connection.execute("BEGIN")
            action(connection, matches)
            connection.execute("COMMIT")
        seconds = time.process_time() - began
    finally:
        gc.enable()
    if connection.execute(application.shown).fetchall() != application.definition(market):
        raise TableDiffers(f"{unit}: the table is not what its definition says")
    return seconds


def matches_of(application: Application, batches: UnitBatches) -> Iterator[Batch]:
    """The bound rows of each batch, in order of time."""
    order = np.argsort(batches.of_row, kind="stable")
    ends = np.cumsum(np.bincount(batches.of_row, minlength=len(batches)))
    given = [application.given[place] for place in order.tolist()]
    begin = 0
    for end in ends.tolist():
        yield given[begin:end]
        begin = end


def _table(columns: str, name: str, rows: Sequence[tuple[Any, ...]]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"CREATE TABLE {name} ({columns})")
    connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
    return connection


def _comps_table(market: Market) -> sqlite3.Connection:
    return _table("comp INTEGER PRIMARY KEY, price INTEGER", "comp_prices",
                  _comps_at(market, market.first))  # fmt: skip


def _comps_at(market: Market, prices: Any) -> list[tuple[int, float]]:
    summed = (prices[market.members] * market.weight).sum(axis=1)
    return list(enumerate(summed.tolist()))


def _comps_of_now(market: Market) -> list[tuple[int, float]]:
    return _comps_at(market, market.last)


def _options_table(market: Market) -> sqlite3.Connection:
    connection = _table("option_symbol INTEGER PRIMARY KEY, price REAL", "option_prices",
                        _options_at(market, market.first))  # fmt: skip
    connection.execute("CREATE TABLE stock_stdev (symbol INTEGER PRIMARY KEY, stdev REAL)")
    stdevs = list(enumerate(market.stdev.tolist()))
    connection.executemany("INSERT INTO stock_stdev VALUES (?, ?)", stdevs)
    return connection


def _options_at(market: Market, prices: Any) -> list[tuple[int, float]]:
    stock = market.option_stock
    columns = (prices[stock], market.strike, market.years, market.stdev[stock])
    each = zip(*(column.tolist() for column in columns), strict=True)
    return [(number, black_scholes(*one)) for number, one in enumerate(each)]


def _options_of_now(market: Market) -> list[tuple[int, float]]:
    return _options_at(market, market.last)
