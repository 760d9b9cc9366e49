"""Play the market: prices change in bursts, `dbt run` follows, each derived table is compared."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import jinja2

from tapestry.demo.check import TableComparison
from tapestry.demo.play import Player
from tapestry.demo.trading.market import Market
from tapestry.demo.trading.seeds import dollars, symbol
from tapestry.quoting import authored, relation_name, string
from tapestry.schedule.warm import Ran

DERIVED = ("comp_prices1", "comp_prices2", "comp_prices3", "option_prices")
WAITS = 1.1
"""Seconds from the last change to the run: the rules wait for one."""


@dataclass(frozen=True)
class PriceChange:
    """One commit of the demonstration: a stock has another price."""

    symbol: str
    price: Decimal


@dataclass(frozen=True)
class TradingStep:
    """One step: what changed, what the run did, which batches it made, and what is right.

    batches
        Of compute_options: the stock of each batch, and how many changes of it are in it.
    """

    changes: Sequence[PriceChange]
    ran: Sequence[Ran]
    batches: Sequence[tuple[str, int]]
    compared: Sequence[TableComparison]


def bursts(market: Market, runs: int, each: int = 6) -> list[list[PriceChange]]:
    """The changes before each run; none before the first one, which builds the tables."""
    changes = [
        PriceChange(symbol(stock), dollars(price))
        for stock, price in zip(market.stock, market.new, strict=True)
    ]
    return [[], *(changes[i * each : (i + 1) * each] for i in range(runs - 1))]


def play_trading(player: Player, steps: Sequence[Sequence[PriceChange]]) -> Iterator[TradingStep]:
    """Each step, when its run is over and its tables are compared."""
    for changes in steps:
        for one in changes:
            player.session.run(
                f"UPDATE {relation_name(f'{player.schema}.stocks')}"
                f" SET price = CAST({string(str(one.price))} AS DECIMAL(10, 3))"
                f" WHERE symbol = {string(one.symbol)}"
            )
        if changes:
            time.sleep(WAITS)
        ran = player.dbt_run(player.schema, None, {})
        compared = [compare_derived(player, model) for model in DERIVED]
        yield TradingStep(changes, ran, batches_of_options(player, len(changes)), compared)


def batches_of_options(player: Player, changes: int) -> list[tuple[str, int]]:
    """The newest batches of compute_options, if anything has changed."""
    if not changes:
        return []
    view = relation_name(f"{player.schema}.compute_options")
    rows = player.session.rows(
        f"SELECT get_json_object(key, '$[0]') AS stock, firings FROM {view} WHERE event = 'done'"
        f" AND m = (SELECT max(m) FROM {view}) ORDER BY firings DESC, stock"
    )
    return [(str(stock), int(firings)) for stock, firings in rows]


def compare_derived(player: Player, model: str) -> TableComparison:
    """Compare a derived table with what Spark answers to its definition."""
    table = relation_name(f"{player.schema}.{model}")
    expected = player.session.rows(definition_of(player.project, model, player.schema))
    found = player.session.rows(f"SELECT * FROM {table}")
    missing, surplus = differences(expected, found)
    return TableComparison(model, len(expected), missing, surplus)


def differences(
    expected: Sequence[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """Return how many rows of (key, price) are missing, and how many are surplus.

    Prices that are doubles are equal to nine digits; a row can stand for one row only.

    >>> differences([("a", 1.0), ("b", 2.0)], [("a", 1.0 + 1e-12), ("a", 1.0), ("b", 2.1)])
    (1, 2)
    """
    left = list(found)
    missing = 0
    for row in expected:
        equal = next((one for one in left if _equal(row, one)), None)
        if equal is None:
            missing += 1
        else:
            left.remove(equal)
    return missing, len(left)


def _equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one[0] != other[0] or one[1] is None or other[1] is None:
        return one == other
    if isinstance(one[1], float):
        return math.isclose(one[1], other[1], rel_tol=1e-9, abs_tol=1e-9)
    return bool(one[1] == other[1])


def definition_of(project: Path, model: str, schema: str) -> str:
    """The query of a model over the tables of a schema."""
    macros = (project / "project_macros/call_prices.sql").read_text("utf-8")
    text = (project / f"models/trading/{model}.sql").read_text("utf-8")
    template = jinja2.Template(macros + text, undefined=jinja2.StrictUndefined)
    rendered = template.render(
        config=lambda **_: "", ref=lambda name: relation_name(f"{schema}.{name}")
    )
    return authored(rendered)
