"""The figures of the STRIP paper as pictures: a line a unit of batching, over the delay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.plots import BLUE, GREY, ORANGE, figure, save
from benchmarks.trading.held import Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREEN = "#238b45"
COLORS = {"unique": BLUE, "symbol": GREEN, "target": ORANGE}
MARKS = {"unique": "o-", "symbol": "s-", "target": "^-"}
Value = Callable[[Mapping[str, Any]], float]


def unit_names(target: str) -> dict[str, str]:
    """What the units are called where the targets are composites, or options."""
    return {"none": "not unique", "unique": "unique", "symbol": "unique on symbol",
            "target": f"unique on {target}"}  # fmt: skip


def lines(axes: Axes, found: Found, value: Value) -> None:
    """A line a unit, and a dashed one across for the rule without `unique`."""
    names, none = unit_names("comp"), value(found["none"]["0"])
    axes.axhline(none, color=GREY, ls="--", label=names["none"])
    for unit, color in COLORS.items():
        if unit in found:
            x = [float(delay) for delay in found[unit]]
            y = [value(one) for one in found[unit].values()]
            axes.plot(x, y, MARKS[unit], color=color, label=names[unit])
    axes.set_xlabel("delay, seconds")
    axes.set_xlim(0.3, 3.2)
    axes.grid(color="#e5e5e5")


def _logarithmic(axes: Axes, said: str) -> None:
    """A logarithmic scale that is marked with plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(said)


def cost(name: str, found: Found, title: str, paper: Mapping[str, float]) -> Path:
    """Figures 9 and 12: processor time and written rows, as parts of what none takes.

    ``paper``: by what it is said of, the part that the paper tells for 3 s.
    """
    made, panels = figure(panels=2, width=9, height=3.8)
    for axes, what, said in zip(
        panels, ("cpu", "rows"), ("processor time", "rows written"), strict=True
    ):
        whole = found["none"]["0"][what]
        lines(axes, found, lambda one, what=what, whole=whole: one[what] / whole)  # type: ignore[misc]
        axes.set_ylim(bottom=0)
        axes.set_title(f"{title}: {said}, not unique = 1", loc="left", fontsize=10)
    for said, part in paper.items():
        panels[0].plot([3], [part], "*", color="black", markersize=9)
        panels[0].annotate(
            said, (3, part), (-8, 8), textcoords="offset points", fontsize=8, ha="right",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return save(made, name)


def counted(name: str, found: Found, title: str) -> Path:
    """Figure 10: batches, on a logarithmic scale."""
    made, axes = figure(height=3.8)
    lines(axes, found, lambda one: float(one["batches"]))
    _logarithmic(axes, "batches, log scale")
    axes.set_title(title, loc="left", fontsize=10)
    made.legend(loc="outside lower center", ncols=4)
    return save(made, name)


def lengths(name: str, found: Found, title: str) -> Path:
    """Figures 11 and 13: microseconds a batch, on a logarithmic scale."""
    made, axes = figure(height=3.8)
    lines(axes, found, lambda one: 1e6 * one["length"])
    _logarithmic(axes, "microseconds a batch, log scale")
    axes.set_title(title, loc="left", fontsize=10)
    made.legend(loc="outside lower center", ncols=4)
    return save(made, name)
