"""The tables of the small market that `make demo MODELS=trading` plays, as files of ``seeds/``.

``python -m tapestry.demo.trading.seeds`` writes them again; they are the same each time.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

from tapestry.demo.trading.market import TICKS, Market, MarketPlan

FOLDER = Path(__file__).parents[4] / "seeds" / "trading"
PLAN = MarketPlan(
    stocks=24, changes=60, seconds=20, composites=5, members=8, options=40, burst=1.8, seed=97
)
"""The market of the demonstration: few stocks, and bursts that can be seen."""
HEADS = {
    "stocks": ("symbol", "price"),
    "stock_stdev": ("symbol", "stdev"),
    "comps_list": ("comp", "symbol", "weight"),
    "options_list": ("option_symbol", "stock_symbol", "strike", "exp"),
}
"""The seeds, and their columns."""


def dollars(ticks: Any) -> Decimal:
    """A price in dollars.

    >>> dollars(242)
    Decimal('30.250')
    """
    return (Decimal(int(ticks)) / TICKS).quantize(Decimal("0.001"))


def symbol(stock: Any) -> str:
    """The name of a stock.

    >>> symbol(0)
    'S0001'
    """
    return f"S{int(stock) + 1:04}"


def seed_rows(market: Market) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table at the opening of a market."""
    stocks = range(market.plan.stocks)
    members = [
        (f"C{comp + 1:03}", symbol(stock), Decimal(int(weight)) / 100)
        for comp in range(market.plan.composites)
        for stock, weight in zip(market.members[comp], market.weight[comp], strict=True)
    ]
    options = zip(market.option_stock, market.strike, market.years, strict=True)
    return {
        "stocks": [(symbol(stock), dollars(market.first[stock])) for stock in stocks],
        "stock_stdev": [(symbol(stock), float(market.stdev[stock])) for stock in stocks],
        "comps_list": members,
        "options_list": [
            (f"O{number:05}", symbol(stock), dollars(strike), f"{years:.4f}")
            for number, (stock, strike, years) in enumerate(options, 1)
        ],
    }


def write_seeds(market: Market, folder: Path) -> list[Path]:
    """Write the tables as CSV files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, rows in seed_rows(market).items():
        files.append(folder / f"{name}.csv")
        with files[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADS[name], *rows])
    return files


if __name__ == "__main__":
    from tapestry.demo.trading.market import make_market

    for path in write_seeds(make_market(PLAN), FOLDER):
        print(path)
