"""Prints the demonstration of the shop: each run as it passes, a line for each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table

from tapestry.demo.check import TableComparison
from tapestry.demo.shop.changes import RowChanges
from tapestry.demo.shop.play_shop import ShopStep


def show_shop(console: Console, steps: Iterable[ShopStep]) -> bool:
    """A table for each run; True if each table is equal to its recomputation."""
    good = True
    for number, step in enumerate(steps, 1):
        good &= all(one.equal for one in step.compared)
        console.print(f"[bold]run {number}, as of {step.until:%Y-%m-%d}[/]: {_told(step.changes)}")
        console.print(_of_models(step))
    return good


def _told(changes: Mapping[str, RowChanges]) -> str:
    """Name the tables that changed before a run, and how many rows of each."""
    return "; ".join(f"{name} {_counts(one)}" for name, one in changes.items() if _counts(one))


def _counts(changes: RowChanges) -> str:
    """Return how many rows of a table were inserted, updated and deleted.

    >>> _counts(RowChanges([(1,), (2,)], (), [(3,)]))
    '+2 −1'
    """
    signs = (("+", changes.inserted), ("~", changes.updated), ("−", changes.deleted))
    return " ".join(f"{sign}{len(rows):,}" for sign, rows in signs if rows)


def _of_models(step: ShopStep) -> Table:
    table = Table(title_justify="left")
    for name in ("model", "how it was kept", "rows", "recomputed", "seconds"):
        table.add_column(name, justify="right" if name in ("rows", "seconds") else "left")
    ran = {one.model: one for one in step.ran}
    for one in step.compared:
        how, seconds = ran[one.model].message, ran[one.model].seconds
        table.add_row(one.model, how, f"{one.expected:,}", _verdict(one), f"{seconds:.1f}")
    return table


def _verdict(one: TableComparison) -> str:
    if one.equal:
        return "[green]equal[/]"
    return f"[red]DIFFERENT: {one.missing:,} missing, {one.surplus:,} too many[/]"
