"""Instants and lengths of time as people write them in YAML and on the command line."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tapestry.errors import ConfigurationError

UNITS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
UTC_NAMES = ("utc", "z", "etc/utc", "gmt")
"""In lower case."""


LONGEST = timedelta(days=366_000)
"""The longest time in a configuration: a few of them from now there are timestamps still."""


def parse_length(value: Any, key: str) -> timedelta:
    """Return a length of time: ``1 hour``, ``30s``, ``1 day 12 hours``; at most ``LONGEST``.

    Raises ConfigurationError, which names ``key``.

    >>> parse_length("1 day 12 hours", "lag")
    datetime.timedelta(days=1, seconds=43200)
    >>> parse_length("1h30m", "every"), parse_length("2 mins", "every")
    (datetime.timedelta(seconds=5400), datetime.timedelta(seconds=120))
    """
    if isinstance(value, timedelta) and value >= timedelta(0):
        return value
    text = str(value).strip().lower().removeprefix("interval ").strip()
    parts = [(number, _unit(unit)) for number, unit in _PART.findall(text)]
    known = all(unit in UNITS for _, unit in parts)
    if not parts or not known or _PART.sub("", text).strip():
        raise ConfigurationError(
            f"{key}: {value!r} is not a length of time",
            hint=f"write it like '30 seconds', '1 hour', '1 day 12 hours' ({', '.join(UNITS)}s)",
        )
    seconds = sum(float(number) * UNITS[unit].total_seconds() for number, unit in parts)
    if seconds > LONGEST.total_seconds():
        raise ConfigurationError(
            f"{key}: {value!r} is more than {LONGEST.days} days",
            hint="instants that far from now have no timestamp; write a shorter one",
        )
    length = timedelta(0)
    for number, unit in parts:
        length += float(number) * UNITS[unit]
    return length


def parse_every(value: Any, key: str) -> timedelta:
    """Return the length of time between two runs, at least a millisecond.

    Raises ConfigurationError, which names ``key``.
    """
    length = parse_length(value, key)
    if length < UNITS["millisecond"]:
        raise ConfigurationError(f"{key}: {value!r} is too short", hint="write it like '30s'")
    return length


def parse_instant(value: Any, key: str, zone: tzinfo = timezone.utc) -> datetime:
    """Return an instant in UTC from ISO text, a date or a datetime; ``zone`` if it has none.

    Raises ConfigurationError, which names ``key``.

    >>> parse_instant("2026-03-01 12:00:00+02:00", "begin").isoformat()
    '2026-03-01T10:00:00+00:00'
    """
    if isinstance(value, datetime):
        instant = value
    elif isinstance(value, date):
        instant = datetime(value.year, value.month, value.day)
    else:
        instant = _from_text(str(value), key)
    if instant.tzinfo is not None:
        return instant.astimezone(timezone.utc)
    found = instant_of(instant, zone)
    if found is None:
        raise ConfigurationError(
            f"{key}: the clocks of {zone} skip {str(value)!r}",
            hint="write it with its offset, like 2026-03-01T12:30:00+01:00",
        )
    return found


def instant_of(local: datetime, zone: tzinfo) -> datetime | None:
    """Return the UTC instant at which a zone's clocks show a time; None where they skip it.

    Raises OverflowError where it lies outside of the years 1 to 9999.
    """
    instant = local.replace(tzinfo=zone).astimezone(timezone.utc)
    shown = instant.astimezone(zone).replace(tzinfo=None, fold=0)
    return instant if shown == local.replace(fold=0) else None


def parse_zone(name: str) -> tzinfo:
    """Return the time zone of a Spark session by its name.

    Raises ConfigurationError for a name that this machine does not know.
    """
    if name.lower() in UTC_NAMES:
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        pass
    try:
        offset = datetime.fromisoformat(f"2000-01-01T00:00:00{name.upper().removeprefix('UTC')}")
        assert offset.tzinfo is not None
        return offset.tzinfo
    except (ValueError, AssertionError):
        raise ConfigurationError(
            f"the session time zone {name!r} is not known here",
            hint="set spark.sql.session.timeZone to a name like UTC or Europe/Berlin",
        ) from None


def show(instant: datetime | None) -> str:
    """Return an instant as people read it, in UTC.

    >>> show(datetime(2026, 3, 1, 12, tzinfo=timezone.utc)), show(None)
    ('2026-03-01 12:00:00', '-infinity')
    """
    if instant is None:
        return "-infinity"
    return str(instant.astimezone(timezone.utc).replace(tzinfo=None))


def _unit(text: str) -> str:
    """Return the full name of a unit, given by its plural or its abbreviation."""
    singular = text if text in SHORT else text.removesuffix("s")
    return SHORT.get(singular, singular)


def _from_text(text: str, key: str) -> datetime:
    """Parse ISO 8601, also what Python 3.10 refuses: ``Z``, long fractions, no separators.

    A fraction that is not whole microseconds is refused.
    """
    trimmed = re.sub(r"\s*(z|utc)$", "+00:00", text.strip(), flags=re.IGNORECASE)
    if re.search(r"\.\d{6}\d*[1-9]", trimmed):
        raise ConfigurationError(
            f"{key}: {text!r} has more than six digits of a second",
            hint="instants are counted in microseconds: round it",
        )
    trimmed = re.sub(r"\.(\d+)", lambda m: "." + m[1][:6].ljust(6, "0"), trimmed)
    trimmed = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", trimmed)
    if re.fullmatch(r"\d{8}", trimmed):
        trimmed = f"{trimmed[:4]}-{trimmed[4:6]}-{trimmed[6:]}"
    try:
        return datetime.fromisoformat(trimmed)
    except ValueError:
        raise ConfigurationError(
            f"{key}: {text!r} is not an instant",
            hint="write it like 2026-03-01, 2026-03-01 12:30:00 or 2026-03-01T12:30:00+01:00",
        ) from None
