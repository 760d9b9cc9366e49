"""The pieces of docs/reference/trading.md: figures 9 to 13 of STRIP, from the kept results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import load
from benchmarks.markdown import picture, table
from benchmarks.trading import held, plots
from benchmarks.trading.held import Found
from benchmarks.trading.plots import unit_names

Drawn = Callable[[str, Found], Path]
Cell = Callable[[Found, str, str], str]


def strip_fig9() -> str:
    """Processor time and rows of comp_prices."""
    title = "comp_prices"

    def draw(name: str, found: Found) -> Path:
        return plots.cost(name, found, title, {"the paper: two units below a third": 1 / 3})

    return _figure("strip_fig9", "strip_comps", (_cost, "comp", draw), held.fig9)


def strip_fig10() -> str:
    """Batches of comp_prices."""

    def draw(name: str, found: Found) -> Path:
        return plots.counted(name, found, "comp_prices: batches in half an hour, N_r")

    return _figure("strip_fig10", "strip_counts", (_batches, "comp", draw), held.fig10)


def strip_fig11() -> str:
    """Microseconds a batch of comp_prices."""

    def draw(name: str, found: Found) -> Path:
        return plots.lengths(name, found, "comp_prices: how long a batch takes")

    return _figure("strip_fig11", "strip_comps", (_length, "comp", draw), held.fig11)


def strip_fig12() -> str:
    """Processor time and rows of option_prices."""

    def draw(name: str, found: Found) -> Path:
        return plots.cost(name, found, "option_prices", {"the paper, on symbol: 0.8": 0.8})

    return _figure("strip_fig12", "strip_options", (_cost, "option_symbol", draw), held.fig12)


def strip_fig13() -> str:
    """Microseconds a batch of option_prices."""

    def draw(name: str, found: Found) -> Path:
        return plots.lengths(name, found, "option_prices: how long a batch takes")

    return _figure("strip_fig13", "strip_options", (_length, "option_symbol", draw), held.fig13)


def _cost(found: Found, unit: str, delay: str) -> str:
    one, none = found[unit][delay], found["none"]["0"]
    parts = [f"{one[what] / none[what]:.2f}" for what in ("cpu", "rows")]
    return f"**{parts[0]}**, {parts[1]}"


def _batches(found: Found, unit: str, delay: str) -> str:
    return f"{found[unit][delay]['batches']:,}"


def _length(found: Found, unit: str, delay: str) -> str:
    return f"{1e6 * found[unit][delay]['length']:,.0f} µs"


def _figure(
    name: str,
    kept: str,
    shown: tuple[Cell, str, Drawn],
    checks: Callable[[Found], list[held.Held]],
) -> str:
    """Picture, table, what must hold, and where it was measured."""
    result = load(kept)
    if result is None:
        return f"*Not measured yet: `python -m benchmarks.figures.{name}`.*"
    cell, target, draw = shown
    found: Found = result["found"]
    names = unit_names(target)
    delays = list(found["unique"])
    rows = [
        [names[unit], *(cell(found, unit, "0" if unit == "none" else one) for one in delays)]
        for unit in found
    ]
    head = ["", *(f"{delay} s" for delay in delays)]
    drawn = picture(draw(name, found), f"Figure {name.removeprefix('strip_fig')} of STRIP, here")
    return "\n\n".join([drawn, table(head, rows), held.listed(checks(found)), _said(result)])


def _said(result: Mapping[str, Any]) -> str:
    at, plan = result["measured"], result["plan"]
    best = f" Best of {result['rounds']} rounds." if "rounds" in result else ""
    return (
        f"{plan['changes']:,} changes of {plan['stocks']:,} stocks in {plan['seconds']:,} s,"
        f" {plan['composites']} composites, {plan['options']:,} options.{best} {at['at'][:10]},"
        f" Python {at['python']}, load average {at['load_average']} (other programs were running),"
        f" commit {at['commit']}."
    )


def strip_delta() -> str:
    """A rule's run over commits of one row on Delta: Spark jobs and seconds."""
    result = load("strip_delta") or {}
    commits = result.get("commits")
    if commits is None:
        return "*Not measured yet: `python -m benchmarks.trading.on_delta commits`.*"
    counts = [name for name in commits if name != "plan"]
    rows = [[f"{int(one):,}", str(commits[one]["jobs"]), f"{commits[one]['seconds']:.0f}",
             commits[one]["said"].split(" in ")[0]] for one in counts]  # fmt: skip
    head = ["commits of one row", "Spark jobs", "seconds", "bound"]
    return "\n\n".join([table(head, rows), _said({**result, "plan": commits["plan"]})])


MADE = (strip_fig9, strip_fig10, strip_fig11, strip_fig12, strip_fig13, strip_delta)
