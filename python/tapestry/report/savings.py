"""Describes what incremental updates of a table saved, as far as the runs tell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tapestry.report.record import Run
from tapestry.report.text import seconds
from tapestry.words import counted

INCREMENTAL, FULL = "incremental", "full"


def savings(runs: Sequence[Run]) -> str:
    """Return how many runs were incremental, and their time beside that of full ones; "" for none.

    >>> savings([Run("m", refresh="full", seconds=8.0),
    ...          Run("m", refresh="incremental", seconds=2.0, bytes_read=10, bytes_full=100)])
    '1 of 2 runs by what had changed: 2.0 s each, against 8.0 s; they read 10 % of all bytes'
    """
    good = [run for run in runs if run.refresh and not run.failed]
    changed = [run for run in good if run.refresh == INCREMENTAL]
    if not good:
        return ""
    told = f"{len(changed)} of {counted(len(good), 'run')} by what had changed"
    some, whole = _middle(changed), _middle([run for run in good if run.refresh == FULL])
    if some is not None:
        told += f": {seconds(some)} each"
        told += "" if whole is None else f", against {seconds(whole)}"
    measured = [run for run in changed if run.bytes_read is not None and run.bytes_full]
    read = sum(run.bytes_read or 0 for run in measured)
    full = sum(run.bytes_full or 0 for run in measured)
    return f"{told}; they read {100 * read / full:.0f} % of all bytes" if full else told


def _middle(runs: Sequence[Run]) -> float | None:
    found = [run.seconds for run in runs if run.seconds is not None]
    return median(found) if found else None
