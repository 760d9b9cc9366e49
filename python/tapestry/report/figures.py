"""The plots of the whole project: new rows, late rows, checks and costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Any

from tapestry.report.buckets import Axis, make_axis
from tapestry.report.plots import Plot, bars, render
from tapestry.report.record import VERIFICATION_KINDS, RecordedCheck, Run
from tapestry.report.standing import Verdict
from tapestry.report.text import instant, length, number, seconds, size
from tapestry.words import counted

OTHERS = "others"
NAMED = 4
_CHANGES = {"inserted": "s1", "updated": "s2", "deleted": "s3"}
"""Rows do one of these where rows go out, too; each has its color."""
_PALETTE = ("s1", "s2", "s3", "s4", "s0")
Cell = dict[tuple[int, str], float]


def project_figures(verdict: Verdict) -> list[Plot]:
    """Return the plots; those with an unfilled or all-zero column are left out."""
    runs = [run for model in verdict.models for run in model.runs]
    checks = [check for model in verdict.models for check in model.checks]
    axis = make_axis(runs)
    if axis is None:
        return []
    made = [
        _new_rows(axis, runs),
        _counts(axis, runs, "late", "Late rows", lambda run: run.late_rows, "s2"),
        _counts(axis, runs, "rejected", "Rejected rows", lambda run: run.rejected_rows, "s3"),
        _verification(axis, runs, checks),
        _cost(axis, runs),
        _bytes(axis, runs),
    ]
    return [plot for plot in made if plot is not None]


def model_figure(number_of_model: int, name: str, runs: Sequence[Run]) -> Plot | None:
    """Return a model's own plot, its changes over time, apart from full builds of its table."""
    axis = make_axis(runs, most=36)
    if axis is None:
        return None
    if any(run.refresh for run in runs):
        return _changes(axis, number_of_model, runs)
    cells: Cell = defaultdict(float)
    for run in runs:
        bucket = axis.bucket(run)
        if bucket is not None and not _builds(run):
            cells[bucket, name] += run.came or 0
    says = f"{_rows(sum(cells.values()))} in {counted(len(runs), 'run')}{_built(runs)}"
    if not any(cells.values()):
        return None
    face = Face(f"rows-{number_of_model}", "New rows", says, "rows", height=90)
    return _stacked(axis, cells, {name: "s1"}, face)


def _changes(axis: Axis, number_of_model: int, runs: Sequence[Run]) -> Plot | None:
    """Return the plot of the rows that were inserted, replaced and deleted."""
    cells: Cell = defaultdict(float)
    for run in runs:
        bucket = axis.bucket(run)
        if bucket is None or _builds(run):
            continue
        counts = (run.came, run.updated_rows, run.deleted_rows)
        for name, count in zip(_CHANGES, counts, strict=True):
            if count:
                cells[bucket, name] += count
    if not cells:
        return None
    sums = {name: sum(n for (_, one), n in cells.items() if one == name) for name in _CHANGES}
    says = ", ".join(f"{number(n)} {name}" for name, n in sums.items())
    says += f" in {counted(len(runs), 'run')}{_built(runs)}"
    face = Face(f"rows-{number_of_model}", "Changes", says, "rows", height=90)
    return _stacked(axis, cells, {n: c for n, c in _CHANGES.items() if sums[n]}, face)


def _new_rows(axis: Axis, runs: Sequence[Run]) -> Plot | None:
    """Return the plot of new rows by model: the four with most, and the others together."""
    later = [run for run in runs if not _builds(run)]
    sums: Counter[str] = Counter()
    for run in later:
        sums[run.model] += run.came or 0
    if not sums or not sums.total():
        return None
    first = [name for name, rows in sums.most_common(NAMED) if rows]
    short = short_names(first)
    cells: Cell = defaultdict(float)
    for run in later:
        bucket = axis.bucket(run)
        if bucket is not None:
            cells[bucket, short.get(run.model, OTHERS)] += run.came or 0
    series = [*short.values(), *([OTHERS] if len(sums) > len(first) else [])]
    colors = [*_PALETTE[: len(first)], *([_PALETTE[-1]] if len(sums) > len(first) else [])]
    says = f"{_rows(sums.total())}{_built(runs)}"
    face = Face("new", "New rows", says, "rows")
    return _stacked(axis, cells, dict(zip(series, colors, strict=True)), face)


def _counts(
    axis: Axis,
    runs: Sequence[Run],
    name: str,
    title: str,
    value: Callable[[Run], int | None],
    color: str,
) -> Plot | None:
    """Return the plot of one number of each run, summed."""
    cells: Cell = defaultdict(float)
    for run in runs:
        bucket = axis.bucket(run)
        if bucket is not None and value(run):
            cells[bucket, title] += value(run) or 0
    if not cells:
        return None
    affected = sum(1 for run in runs if value(run))
    says = f"{_rows(sum(cells.values()))} in {counted(affected, 'run')} of {len(runs):,}"
    return _stacked(axis, cells, {title: color}, Face(name, title, says, "rows"))


def _verification(axis: Axis, runs: Sequence[Run], checks: Sequence[RecordedCheck]) -> Plot | None:
    """Return the plot of checks of enough and of not too much, by outcome."""
    places = {run.run_id: axis.bucket(run) for run in runs if run.run_id}
    cells: Cell = defaultdict(float)
    for check in checks:
        bucket = places.get(check.run_id)
        if check.kind in VERIFICATION_KINDS and bucket is not None:
            cells[bucket, _outcome(check)] += 1
    if not cells:
        return None
    series = ["held", "warned", "did not hold"]
    totals = {name: sum(v for (_, s), v in cells.items() if s == name) for name in series}
    series = [name for name in series if totals[name]]
    says = f"{number(totals['held'])} of {counted(int(sum(totals.values())), 'check')} held"
    colors = {"held": "ok", "warned": "look", "did not hold": "bad"}
    face = Face("verification", "Enough, not too much", says, "checks")
    return _stacked(axis, cells, {name: colors[name] for name in series}, face)


def _outcome(check: RecordedCheck) -> str:
    if check.broken:
        return "did not hold"
    return "warned" if check.status == "warn" else "held"


def _cost(axis: Axis, runs: Sequence[Run]) -> Plot | None:
    cells: Cell = defaultdict(float)
    for run in runs:
        bucket = axis.bucket(run)
        if bucket is not None and run.seconds:
            cells[bucket, "seconds"] += run.seconds
    if not cells:
        return None
    whole = sum(cells.values())
    says = f"{length(timedelta(seconds=whole))} in {counted(len(runs), 'run')}"
    face = Face("cost", "Seconds spent", says, "seconds", seconds)
    return _stacked(axis, cells, {"seconds": "s4"}, face)


def _bytes(axis: Axis, runs: Sequence[Run]) -> Plot | None:
    cells: Cell = defaultdict(float)
    for run in runs:
        bucket = axis.bucket(run)
        if bucket is None:
            continue
        if run.bytes_read:
            cells[bucket, "read"] += run.bytes_read
        if run.bytes_written:
            cells[bucket, "written"] += run.bytes_written
    series = [name for name in ("read", "written") if any(s == name for _, s in cells)]
    if not series:
        return None
    says = ", ".join(
        f"{size(sum(v for (_, s), v in cells.items() if s == name))} {name}" for name in series
    )
    colors = {"read": "s1", "written": "s2"}
    face = Face("bytes", "Bytes", says, "bytes", size)
    return _stacked(axis, cells, {name: colors[name] for name in series}, face)


@dataclass(frozen=True)
class Face:
    """The title and text of a plot; ``show`` formats a value of its unit."""

    id: str
    title: str
    says: str
    unit: str
    show: Callable[[float | None], str] = number
    height: int = 130


def _stacked(axis: Axis, cells: Cell, colors: Mapping[str, str], face: Face) -> Plot:
    """Return bars over time with a table of the same numbers; ``colors`` orders the series."""
    series, show, unit = list(colors), face.show, face.unit
    values: list[dict[str, Any]] = []
    tops: dict[int, float] = defaultdict(float)
    for bucket, name in sorted(cells, key=lambda cell: (cell[0], series.index(cell[1]))):
        value = cells[bucket, name]
        tip = f"{_stretch(axis, bucket)}: {show(value)}{' rows' if unit == 'rows' else ''}"
        tip += f", {name}" if len(series) > 1 else ""
        if value:
            values.append(_bar(axis, bucket, name, tops[bucket], tops[bucket] + value, tip))
            tops[bucket] += value
    # Empty bars at both ends: all plots of a page span the same time.
    values += [_bar(axis, bucket, series[0], 0, 0, "") for bucket in (0, axis.count - 1)]
    spec = bars(
        values,
        series=series,
        colors=list(colors.values()),
        step=label_format(axis),
        unit=unit,
        height=face.height,
    )
    table = [
        (_stretch(axis, bucket), *(show(cells.get((bucket, name), 0)) for name in series))
        for bucket in sorted({bucket for bucket, _ in cells})
    ]
    whole = render(spec, face.title, face.says)
    return Plot(face.id, face.title, face.says, whole, (_heading(axis), *series), tuple(table))


def _bar(
    axis: Axis, bucket: int, series: str, bottom: float, top: float, tip: str
) -> dict[str, Any]:
    return {
        "at": axis.begin(bucket).isoformat(),
        "until": axis.begin(bucket + 1).isoformat(),
        "series": series,
        "y0": bottom,
        "y1": top,
        "tip": tip,
    }


def label_format(axis: Axis) -> dict[str, Any]:
    """Return the format of a time axis's labels, by the time it spans."""
    span = axis.width * axis.count
    if span > timedelta(days=700):
        return {"format": "%b %Y"}
    if span > timedelta(days=5):
        return {"format": "%-d %b"}
    if span > timedelta(days=1):
        return {"format": "%-d %b %H:%M", "tickCount": 3}
    if span < timedelta(minutes=10):
        return {"format": "%H:%M:%S", "tickCount": 4}
    return {"format": "%H:%M"}


def _heading(axis: Axis) -> str:
    return "end of window, UTC" if axis.replayed else "time of run, UTC"


def _stretch(axis: Axis, bucket: int) -> str:
    begin = instant(axis.begin(bucket).astimezone(timezone.utc))
    return begin if axis.width == timedelta(days=1) else f"{begin} + {length(axis.width)}"


def _builds(run: Run) -> bool:
    """Return whether a run wrote its whole table: it would dwarf every other bar."""
    return run.action in ("create", "overwrite")


def _built(runs: Iterable[Run]) -> str:
    rows = sum(run.new_rows or 0 for run in runs if _builds(run))
    return f"; besides, {_rows(rows)} when tables were built" if rows else ""


def _rows(count: float) -> str:
    return counted(int(count), "row")


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names without schema, if they stay distinct.

    >>> short_names(["s.a", "s.b"]), short_names(["s.a", "r.a"])
    ({'s.a': 'a', 's.b': 'b'}, {'s.a': 's.a', 'r.a': 'r.a'})
    """
    short = [name.rpartition(".")[2] for name in names]
    if len(set(short)) < len(short) or OTHERS in short:
        return {name: name for name in names}
    return dict(zip(names, short, strict=True))
