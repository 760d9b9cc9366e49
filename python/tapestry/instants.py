"""Instants are discrete (semantics, section 1): a whole number of microseconds since 1970."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICRO = timedelta(microseconds=1)
"""The distance of two neighbouring instants."""


def micros(instant: datetime) -> int:
    """Microseconds since the epoch, exactly; an instant without a zone is an error."""
    return (instant - EPOCH) // MICRO


def from_micros(count: int) -> datetime:
    """The instant that lies ``count`` microseconds after the epoch, in UTC."""
    return EPOCH + count * MICRO
