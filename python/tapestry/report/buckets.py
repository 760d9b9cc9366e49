"""Sums runs over equal stretches of time: ten thousand runs become some dozens of points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from tapestry.instants import EPOCH
from tapestry.report.record import Run
from tapestry.report.standing import REPLAY

MOST = 48
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_WIDTHS = (
    timedelta(seconds=1),
    timedelta(seconds=10),
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    _HOUR,
    3 * _HOUR,
    6 * _HOUR,
    12 * _HOUR,
    _DAY,
    2 * _DAY,
    7 * _DAY,
    14 * _DAY,
    30 * _DAY,
    91 * _DAY,
    365 * _DAY,
)


@dataclass(frozen=True)
class Axis:
    """Time cut into buckets of one width. ``replayed``: runs stand at the end of their window.

    Otherwise they stand where they ended by the clock; both are the same to a minute for a project
    that runs on a schedule, and years apart where past data was replayed.
    """

    start: datetime
    width: timedelta
    count: int
    replayed: bool

    def when(self, run: Run) -> datetime | None:
        """Return the instant of a run on this axis."""
        return (run.t or run.ended_at) if self.replayed else (run.ended_at or run.t)

    def place(self, moment: datetime) -> int:
        """The number of the bucket of an instant."""
        return max(0, min(self.count - 1, (moment - self.start) // self.width))

    def bucket(self, run: Run) -> int | None:
        """The number of the bucket of a run; None where no time of it is known."""
        moment = self.when(run)
        return None if moment is None else self.place(moment)

    def begin(self, number: int) -> datetime:
        """Return the instant at which a bucket begins."""
        return self.start + number * self.width

    @property
    def begins(self) -> list[datetime]:
        """Return the instants at which the buckets begin."""
        return [self.begin(number) for number in range(self.count)]


def make_axis(runs: Iterable[Run], most: int = MOST) -> Axis | None:
    """Return the axis of some runs, in at most ``most`` buckets; None without any run.

    >>> hours = [EPOCH.replace(year=2026, hour=hour, minute=30) for hour in (1, 2, 9)]
    >>> axis = make_axis([Run("m", invocation_id="i", ended_at=hour) for hour in hours])
    >>> axis.width, axis.count, axis.replayed
    (datetime.timedelta(seconds=900), 33, False)
    """
    runs = list(runs)
    replayed = _replayed(runs)
    moments = [run.t if replayed else run.ended_at for run in runs]
    known = [moment or run.t or run.ended_at for moment, run in zip(moments, runs, strict=True)]
    times = [moment for moment in known if moment is not None]
    if not times:
        return None
    first, last = min(times), max(times)
    usual = _usual_gap(runs, replayed)
    width = next((w for w in _WIDTHS if w * 1.1 >= usual and _count(first, last, w) <= most), None)
    if width is None:
        years = (last - first) // (365 * _DAY)
        width = 365 * _DAY * (years // (most - 1) + 1)
    start = EPOCH + (first - EPOCH) // width * width
    return Axis(start, width, (last - start) // width + 1, replayed)


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _usual_gap(runs: Sequence[Run], replayed: bool) -> timedelta:
    """Return the median time between invocations, as width of buckets without regular holes."""
    moments: dict[str, datetime] = {}
    for run in runs:
        moment = run.t if replayed else run.ended_at
        if moment is not None:
            moments[run.invocation_id] = moment
    gaps = sorted(b - a for a, b in pairwise(sorted(moments.values())))
    return gaps[len(gaps) // 2] if gaps else timedelta(0)


def _count(first: datetime, last: datetime, width: timedelta) -> int:
    return (last - EPOCH) // width - (first - EPOCH) // width + 1


def _replayed(runs: Sequence[Run]) -> bool:
    """Return whether most runs covered a time long past."""
    past = sum(bool(run.t and run.ended_at and run.ended_at - run.t > REPLAY) for run in runs)
    return past * 2 > len(runs)
