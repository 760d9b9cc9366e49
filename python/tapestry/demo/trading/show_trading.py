"""Prints the demonstration of the market: each run, what it has batched, and what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from tapestry.demo.check import TableComparison
from tapestry.demo.trading.play_trading import PriceChange, TradingStep
from tapestry.words import counted

WRITERS = {
    "comp_prices1": "compute_comps1",
    "comp_prices2": "compute_comps2",
    "comp_prices3": "compute_comps3",
    "option_prices": "compute_options",
}
"""Each derived table, and the action that writes it."""
UNITS = {
    "compute_comps1": "each change",
    "compute_comps2": "unique",
    "compute_comps3": "unique on comp",
    "compute_options": "unique on stock_symbol",
}


def show_trading(console: Console, steps: Iterable[TradingStep]) -> bool:
    """A table for each run; True if each derived table is equal to its definition."""
    good = True
    for number, step in enumerate(steps, 1):
        good &= all(one.equal for one in step.compared)
        console.print(f"[bold]run {number}[/]: {told(step.changes)}", highlight=False)
        console.print(_of_models(step))
        if step.batches:
            listed = ", ".join(f"{stock} {counted(n, 'change')}" for stock, n in step.batches)
            console.print(f"  batches of compute_options: {listed}", highlight=False)
    return good


def told(changes: Sequence[PriceChange]) -> str:
    """Name the stocks that changed, and how often each.

    >>> from decimal import Decimal
    >>> told([PriceChange("S1", Decimal(30)), PriceChange("S2", Decimal(9))] * 2)
    '4 commits of stocks: S1 ×2, S2 ×2'
    """
    if not changes:
        return "the tables are built"
    times = Counter(one.symbol for one in changes)
    listed = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in times.items())
    return f"{counted(len(changes), 'commit')} of stocks: {listed}"


def _of_models(step: TradingStep) -> Table:
    table = Table(title_justify="left")
    for name in ("action", "a batch for", "what it did", "seconds", "its table", "recomputed"):
        table.add_column(name, justify="right" if name == "seconds" else "left")
    ran = {one.model: one for one in step.ran}
    for one in step.compared:
        action = WRITERS[one.model]
        did = ran[action]
        cells = (action, UNITS[action], did.message, f"{did.seconds:.1f}", one.model)
        table.add_row(*cells, _verdict(one))
    return table


def _verdict(one: TableComparison) -> str:
    if one.equal:
        return f"[green]equal[/], {counted(one.expected, 'row')}"
    return f"[red]DIFFERENT: {one.missing:,} missing, {one.surplus:,} too many[/]"
