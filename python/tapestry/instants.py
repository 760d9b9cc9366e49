"""Instants are discrete (semantics, section 1): a whole number of microseconds since 1970."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICRO = timedelta(microseconds=1)
"""The distance of two neighbouring instants."""
FIRST = datetime.min.replace(tzinfo=timezone.utc)
LAST = datetime.max.replace(tzinfo=timezone.utc)
"""Spark's timestamps reach further than the years 1 to 9999 that an instant can be in here."""


def micros(instant: datetime) -> int:
    """Microseconds since the epoch, exactly; an instant without a zone is an error."""
    return (instant - EPOCH) // MICRO


def from_micros(count: int) -> datetime:
    """The instant that lies ``count`` microseconds after the epoch, in UTC.

    Outside of the years 1 to 9999 it is the first or the last in them: no run ends out there.

    >>> str(from_micros(10**18)), str(from_micros(-(10**18)))
    ('9999-12-31 23:59:59.999999+00:00', '0001-01-01 00:00:00+00:00')
    """
    if not _LEAST <= count <= _MOST:
        return FIRST if count < 0 else LAST
    return EPOCH + count * MICRO


_LEAST, _MOST = micros(FIRST), micros(LAST)


def now_utc() -> datetime:
    """The clock of this machine."""
    return datetime.now(timezone.utc)


def at_or_after(count: int | None) -> datetime | None:
    """``from_micros`` as a lower bound; None where there is none, or none that can be written."""
    return None if count is None or count < _LEAST else from_micros(count)
