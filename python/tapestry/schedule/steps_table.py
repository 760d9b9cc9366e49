"""A table for people of the rows that each step delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time

from rich.table import Table

from tapestry.schedule.steps import ReplayStep


def steps_table(title: str, models: Sequence[str], extra: Sequence[str] = ()) -> Table:
    """A table without rows: window, ``extra`` columns, some models, all models, seconds."""
    table = Table(title=title, title_justify="left")
    table.add_column("run", justify="right")
    table.add_column("window (τ, t]", no_wrap=True)
    for name in (*extra, *models, "all models", "seconds"):
        table.add_column(name.replace("_", " "), justify="right")  # spaces: headers can wrap
    return table


def step_cells(step: ReplayStep, models: Sequence[str], extra: Sequence[int] = ()) -> list[str]:
    """A step's row; a model that it did not run has a dash."""
    counts = [step.new.get(model) for model in models]
    return [
        str(step.number),
        f"{_day(step.since)} … {_day(step.until)}",
        *(f"{number:,}" for number in extra),
        *("–" if count is None else f"{count:,}" for count in counts),
        f"{sum(step.new.values()):,}",
        f"{step.seconds:.1f}",
    ]


def _day(instant: datetime | None) -> str:
    """Return an instant in UTC, without a time of midnight or zero seconds.

    >>> _day(datetime(2026, 1, 2)), _day(datetime(2026, 1, 2, 12, 30)), _day(None)
    ('2026-01-02', '2026-01-02 12:30', '−∞')
    """
    if instant is None:
        return "−∞"
    if instant.time() == time():
        return f"{instant:%Y-%m-%d}"
    whole = not instant.second and not instant.microsecond
    return f"{instant:%Y-%m-%d %H:%M}" if whole else f"{instant:%Y-%m-%d %H:%M:%S}"
