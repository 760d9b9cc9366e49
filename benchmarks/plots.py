"""The figures as pictures: one function a figure, all from the kept results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import DOCS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = DOCS / "benchmarks"
GREY = "#8c8c8c"
BLUES = ("#08306b", "#2171b5", "#6baed6", "#c6dbef")
BLUE, ORANGE = "#2171b5", "#d95f02"


def figure(width: float = 8.0, height: float = 3.6, panels: int = 1) -> tuple[Figure, Any]:
    """A new figure in the style that all share."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "tapestry",
            "axes.axisbelow": True,
            "legend.frameon": False,
        }
    )
    from matplotlib import pyplot

    made, axes = pyplot.subplots(1, panels, figsize=(width, height), layout="constrained")
    return made, axes


def save(made: Figure, name: str) -> Path:
    """Write the picture; without a date, so that the same numbers give the same file."""
    from matplotlib import pyplot

    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    made.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    pyplot.close(made)
    return path


def bars(
    axes: Axes, groups: list[str], series: dict[str, list[float | None]], scale: str = "linear"
) -> None:
    """Groups of bars of seconds, each bar labelled."""
    colors = [GREY, *BLUES] if len(series) > 3 else [GREY, BLUES[1], BLUES[2]]
    width = 0.84 / len(series)
    for i, (label, values) in enumerate(series.items()):
        for place, value in enumerate(values):
            if value is None:
                continue
            x = place - 0.42 + (i + 0.5) * width
            once = label if place == 0 else None
            axes.bar(x, value, width * 0.94, color=colors[i], label=once)
            text = f"{value:.2g}" if value < 10 else f"{value:.0f}"
            axes.annotate(text, (x, value), ha="center", va="bottom", fontsize=7)
    axes.set_yscale(scale)
    axes.set_xticks(range(len(groups)), groups)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color="#e5e5e5")


def compared(name: str, queries: dict[str, Any], title: str) -> Path:
    """Figures 5 and 6: seconds of Q and of Q^I for each window."""
    made, axes = figure()
    labels = {
        one: "Q, the plain query" if one == "Q" else f"{one} new" for one in variants(queries)
    }
    series = {
        labels[one]: [query.get(one, {}).get("seconds") for query in queries.values()]
        for one in labels
    }
    values = [value for row in series.values() for value in row if value]
    # Bars tell lengths: a logarithmic scale, which has no zero, only where they would not be seen.
    scale = "log" if max(values) > 30 * min(values) else "linear"
    bars(axes, list(queries), series, scale)
    axes.set_ylabel("seconds, log scale" if scale == "log" else "seconds")
    axes.set_title(title, loc="left", fontsize=10)
    made.legend(loc="outside lower center", ncols=len(labels))
    return save(made, name)


def variants(queries: dict[str, Any]) -> list[str]:
    """Q and the windows that were measured of any query, the largest first."""
    names = {name for query in queries.values() for name in query}
    return ["Q", *sorted(names - {"Q"}, key=lambda one: -float(one.removesuffix(" %")))]


def by_window(name: str, measured: dict[str, dict[str, Any]], title: str) -> Path:
    """Figure 7: seconds of Q1 against the share of new rows."""
    made, axes = figure()
    shares = [one for one in measured if one != "Q"]
    x = [float(one.removesuffix(" %")) for one in shares]
    axes.axhline(measured["Q"]["seconds"], color=GREY, ls="--")
    axes.annotate("Q, the plain query", (2, measured["Q"]["seconds"]), va="bottom")
    axes.plot(x, [measured[one]["seconds"] for one in shares], "o-", color=BLUE)
    axes.annotate(
        "Q^I", (x[3], measured[shares[3]]["seconds"]), (4, -14), textcoords="offset points"
    )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("share of the messages that is new, %")
    axes.set_ylabel("seconds")
    axes.grid(color="#e5e5e5")
    axes.set_title(title, loc="left", fontsize=10)
    return save(made, name)


def by_size(name: str, result: dict[str, Any], title: str) -> Path:
    """Figure 8: seconds against the size of the database, the new rows staying the same."""
    made, axes = figure()
    sizes = list(result["rows"])
    x = [result["rows"][size] / 1e6 for size in sizes]
    lines = (("Q1 Q", "Q1", GREY, "o--"), ("Q1 QI", "Q1, Q^I", BLUE, "o-"))
    lines += (("Q3' Q", "Q3", GREY, "s--"), ("Q3' QI", "Q3', Q^I", ORANGE, "s-"))
    for prefix, label, color, style in lines:
        y = [result["variants"][f"{prefix} {size}"]["seconds"] for size in sizes]
        axes.plot(x, y, style, color=color)
        axes.annotate(label, (x[-1], y[-1]), (8, 1), textcoords="offset points", color=color)
    axes.set_xlim(0, max(x) * 1.12)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("messages in the database, millions")
    axes.set_ylabel("seconds")
    axes.grid(color="#e5e5e5")
    axes.set_title(title, loc="left", fontsize=10)
    return save(made, name)


def by_layout(name: str, layouts: dict[str, Any], title: str) -> Path:
    """Figure 9: seconds of each query and window in every layout."""
    names = list(next(iter(layouts.values()))["queries"])
    made, panels = figure(panels=len(names), width=9)
    for axes, query in zip(panels, names, strict=True):
        variants = list(next(iter(layouts.values()))["queries"][query])
        series = {
            ("Q" if one == "Q" else f"{one} new"): [
                layout["queries"][query][one]["seconds"] for layout in layouts.values()
            ]
            for one in variants
        }
        bars(axes, list(layouts), series)
        axes.set_title(f"{query}: {title}", loc="left", fontsize=10)
    panels[0].set_ylabel("seconds")
    made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return save(made, name)


def kept(name: str, queries: dict[str, Any], title: str) -> Path:
    """Three ways to keep a table: seconds to bring it up to date."""
    made, axes = figure(height=3.2)
    variants = list(next(iter(queries.values())))
    bars(
        axes,
        list(queries),
        {one: [query[one]["seconds"] for query in queries.values()] for one in variants},
    )
    axes.set_ylabel("seconds")
    axes.set_title(title, loc="left", fontsize=10)
    made.legend(loc="outside lower center", ncols=3)
    return save(made, name)
