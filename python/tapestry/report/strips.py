"""Draws one row for each model over time, which shows failures and quiet times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tapestry.report.buckets import Axis, make_axis
from tapestry.report.figures import label_format, short_names
from tapestry.report.plots import Plot, render, time_axis
from tapestry.report.record import RecordedCheck, Run
from tapestry.report.standing import ModelStanding, Verdict
from tapestry.report.text import instant, length
from tapestry.words import counted

MOST_MODELS = 40
ROW = 17
OK, LOOK, FAILED = "published", "a check was broken", "failed"


def strips(verdict: Verdict) -> Plot | None:
    """Return the plot of the models over time, the worst first; of many, the first forty."""
    every = [model for model in verdict.models if model.runs]
    models = every[:MOST_MODELS]
    axis = make_axis([run for model in models for run in model.runs], most=60)
    if axis is None:
        return None
    names = short_names([model.name for model in models])
    values, table = [], []
    for model in models:
        counts = {OK: 0, LOOK: 0, FAILED: 0}
        for first, last, state, runs in _stretches(_cells(axis, model)):
            counts[state] += last - first + 1
            begin, end = axis.begin(first), axis.begin(last + 1)
            values.append(
                {
                    "at": begin.isoformat(),
                    "until": end.isoformat(),
                    "model": names[model.name],
                    "state": state,
                    "tip": f"{model.name}: {state}, {counted(runs, 'run')},"
                    f" {instant(begin)} to {instant(end)}",
                }
            )
        table.append((model.name, *(f"{counts[state]:,}" for state in (OK, LOOK, FAILED))))
    by = "window" if axis.replayed else "time of run"
    says = f"by {by}; a gap: nothing to do, or no run, for {length(2 * axis.width)}"
    if len(every) > len(models):
        says += f" (the first {len(models)} of {len(every)})"
    title = "Runs of each model"
    drawn = render(_spec(values, list(names.values()), axis), title, says)
    return Plot("strips", title, says, drawn, ("model", OK, LOOK, FAILED), tuple(table))


def _cells(axis: Axis, model: ModelStanding) -> dict[int, tuple[str, int]]:
    """Return, by bucket, the worst state and the number of runs in that state."""
    broken = _broken(model.checks)
    found: dict[int, list[str]] = defaultdict(list)
    for run in model.runs:
        bucket = axis.bucket(run)
        if bucket is not None:
            found[bucket].append(_state(run, broken))
    order = (FAILED, LOOK, OK)
    worst = {b: next(state for state in order if state in states) for b, states in found.items()}
    return {bucket: (state, found[bucket].count(state)) for bucket, state in worst.items()}


def _stretches(cells: dict[int, tuple[str, int]]) -> Iterator[tuple[int, int, str, int]]:
    """Yield first bucket, last bucket, state and runs of each stretch of one state.

    One empty bucket is none: runs that are a minute late, or quiet, leave such.
    """
    current: tuple[int, int, str, int] | None = None
    for bucket, (state, runs) in sorted(cells.items()):
        if current is not None and bucket - current[1] <= 2 and current[2] == state:
            current = (current[0], bucket, state, current[3] + runs)
            continue
        if current is not None:
            yield current
        current = (bucket, bucket, state, runs)
    if current is not None:
        yield current


def _broken(checks: Sequence[RecordedCheck]) -> set[str]:
    return {check.run_id for check in checks if check.status not in ("pass", "")}


def _state(run: Run, broken: set[str]) -> str:
    if run.failed:
        return FAILED
    return LOOK if run.run_id in broken or run.verification in ("warned", "failed") else OK


def _spec(values: list[dict[str, Any]], names: Sequence[str], axis: Axis) -> dict[str, Any]:
    """Return the plot's specification; a failed cell has a cross, not only another colour."""
    rows = {
        "field": "model",
        "type": "nominal",
        "scale": {"domain": list(names), "paddingInner": 0.25},
        "axis": {
            "orient": "right",  # beside the newest run; a narrow screen shows this end first
            "title": None,
            "labelLimit": 170,
            "domain": False,
            "ticks": False,
        },
    }
    x = time_axis("at", label_format(axis))
    colors = {"domain": [OK, LOOK, FAILED], "range": ["var(--ok)", "var(--look)", "var(--bad)"]}
    cells = {
        "mark": {"type": "rect", "cornerRadius": 1.5},
        "encoding": {
            "x": x,
            "x2": {"field": "until"},
            "y": rows,
            "color": {"field": "state", "type": "nominal", "scale": colors},
            "description": {"field": "tip"},
        },
    }
    crosses = {
        "transform": [{"filter": f"datum.state == '{FAILED}'"}],
        "mark": {
            "type": "text",
            "aria": False,
            "text": "×",
            "color": "var(--paper)",
            "align": "left",
            "dx": 0.5,
        },
        "encoding": {"x": x, "y": rows},
    }
    return {
        "width": 700,
        "height": ROW * len(names),
        "data": {"values": values},
        "layer": [cells, crosses],
        "resolve": {"scale": {"x": "shared"}},
    }
