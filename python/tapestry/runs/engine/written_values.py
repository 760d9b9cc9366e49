"""Values that people write as text (a seed's cells, rows of unit tests, bounds), read exactly.

Spark's own casts lose what they cannot keep: `1.9` becomes 1, `12345.678` a rounded decimal,
`2026-01-03 25:99` a date, `10:00` a time of today, `1e400` infinity; outside of ANSI mode a text
that they cannot read at all is NULL. Here a text is a value of a type exactly, or is refused. The
text that a reader returns denotes the same value in each session, whatever its settings.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from tapestry.runs.engine.instants import instant_of

Reader = Callable[[str], str]
"""Gives a text in a form that every engine reads alike.

Raises UnfitError.
"""
_TYPE = re.compile(r"(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", re.ASCII)
_WHOLE = {
    **dict.fromkeys(("tinyint", "byte"), 8),
    **dict.fromkeys(("smallint", "short"), 16),
    **dict.fromkeys(("int", "integer"), 32),
    **dict.fromkeys(("bigint", "long"), 64),
}
_BINARY = {"float": "f", "real": "f", "double": "d"}
_DECIMAL = ("decimal", "dec", "numeric")
_AS_IT_IS = ("string", "binary")
_LIMITED = ("varchar", "char", "character")
_INSTANT = ("timestamp", "timestamp_ltz")
_LOCAL = "timestamp_ntz"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_UNBOUNDED = {"nan": "NaN", "inf": "Infinity", "infinity": "Infinity"}
_TRUTHS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), "true"),
    **dict.fromkeys(("f", "false", "n", "no", "0"), "false"),
}
_WHEN = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[ ]+|T)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?[ ]*(.*)",
    re.ASCII | re.DOTALL,
)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_UTC = ("Z", "UTC", "GMT")
_FARTHEST = timedelta(hours=18)
_PAST_DIGITS = 400
"""More digits before the point than a number of any type has."""


class UnfitError(ValueError):
    """A text is no value of a type; the message is the reason, as a verb phrase."""


def reader_of(kind: str, zone: tzinfo = timezone.utc) -> Reader | None:
    """Return the function that reads values of a type; None for a type that only Spark knows.

    These are nested types and intervals. An instant without an offset of its own is in ``zone``.

    >>> reader_of("decimal(5, 2)")(" 1.50 "), reader_of("TIMESTAMP")("2026-1-3T10:00Z")
    ('1.50', '2026-01-03 10:00:00.000000+00:00')
    """
    found = _TYPE.fullmatch(kind.strip().lower())
    if found is None:
        return None
    name, first, second = found.groups()
    if name in _DECIMAL:
        return _decimal(int(first or 10), int(second or 0))
    if name in _LIMITED and first:
        return _limited(int(first))
    if first:
        return None
    if name in _WHOLE:
        return _whole(_WHOLE[name])
    if name in _BINARY:
        return _float(_BINARY[name])
    others: dict[str, Reader] = {
        **dict.fromkeys(_AS_IT_IS, str),
        **dict.fromkeys(_INSTANT, lambda text: _instant(text, zone)),
        _LOCAL: _local,
        "date": _date,
        "boolean": _boolean,
    }
    return others.get(name)


def _whole(bits: int) -> Reader:
    limit = 2 ** (bits - 1)

    def read(text: str) -> str:
        if len(text) <= 9 and text.isascii() and text.isdigit() and int(text) < limit:
            return str(int(text))  # most of them, and quickly
        number = _number(text)
        if number.adjusted() >= _PAST_DIGITS or not -limit <= number < limit:
            raise UnfitError(f"is not between {-limit} and {limit - 1}")
        if number != number.to_integral_value():
            raise UnfitError("is no whole number")
        return str(int(number))

    return read


def _decimal(precision: int, scale: int) -> Reader:
    def read(text: str) -> str:
        number = _number(text)
        if not number:
            return "0"
        if number.adjusted() >= precision - scale:
            raise UnfitError(f"has more than {precision - scale} digits before the point")
        _, digits, exponent = number.as_tuple()
        zeros = next(n for n, digit in enumerate(reversed(digits)) if digit)
        assert isinstance(exponent, int)
        if exponent + zeros < -scale:
            raise UnfitError(f"has more than {scale} digits behind the point")
        return f"{number:f}"

    return read


def _float(form: str) -> Reader:
    def read(text: str) -> str:
        bare = text.strip()
        sign = bare[:1] if bare[:1] in ("+", "-") else ""
        unbounded = _UNBOUNDED.get(bare.removeprefix(sign).lower())
        if unbounded is not None and not (sign and unbounded == "NaN"):
            return f"-{unbounded}" if sign == "-" else unbounded
        number = _number(bare)
        try:
            (kept,) = struct.unpack(form, struct.pack(form, float(number)))
        except OverflowError:
            kept = math.inf
        if math.isinf(kept) or (number and not kept):
            raise UnfitError("is too great" if math.isinf(kept) else "is too close to zero")
        return bare

    return read


def _limited(length: int) -> Reader:
    def read(text: str) -> str:
        if len(text) > length:
            raise UnfitError(f"has {len(text)} characters, more than {length}")
        return text

    return read


def _number(text: str) -> Decimal:
    bare = text.strip()
    if not _NUMBER.fullmatch(bare):
        raise UnfitError("is no number (digits, one point, no other signs)")
    return Decimal(bare)


def _boolean(text: str) -> str:
    found = _TRUTHS.get(text.strip().lower())
    if found is None:
        raise UnfitError("is neither true nor false")
    return found


def _date(text: str) -> str:
    local, zone = _read_local(text)
    if zone or local.time() != datetime.min.time():
        raise UnfitError("is a time of a day, which a date does not keep")
    return local.date().isoformat()


def _local(text: str) -> str:
    local, zone = _read_local(text)
    if zone:
        raise UnfitError("names a time zone, which a local time does not keep")
    return local.isoformat(sep=" ", timespec="microseconds")


def _instant(text: str, zone: tzinfo) -> str:
    local, named = _read_local(text)
    there = _zone(named) if named else zone
    written = local.isoformat(sep=" ", timespec="microseconds")
    if there is timezone.utc:
        return f"{written}+00:00" if named else written
    try:
        instant = instant_of(local, there)
    except OverflowError:
        raise UnfitError("is outside the years 1 to 9999") from None
    if instant is None:
        raise UnfitError("is skipped by the clocks of its time zone")
    if not named:
        return written
    return f"{instant.replace(tzinfo=None).isoformat(sep=' ', timespec='microseconds')}+00:00"


def _read_local(text: str) -> tuple[datetime, str]:
    """Return a date and time of day, and the time zone after it, if there is one."""
    found = _WHEN.fullmatch(text.strip())
    if found is None:
        raise UnfitError("is no date (year-month-day), with or without a time of day")
    *parts, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    if (fraction or "")[6:].strip("0"):
        raise UnfitError("has more than six digits of a second")
    if zone and parts[3] is None:
        raise UnfitError("is no date (year-month-day), with or without a time of day")
    micros = int((fraction or "")[:6].ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micros), zone
    except ValueError:
        kind = "date" if _no_date(year, month, day) else "time of day"
        raise UnfitError(f"is a {kind} that does not exist") from None


def _no_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return True
    return False


def _zone(name: str) -> tzinfo:
    if name in _UTC:
        return timezone.utc
    if found := _OFFSET.fullmatch(name):
        sign, hours, minutes = found.groups()
        length = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if length <= _FARTHEST and int(minutes or 0) < 60:
            return timezone(-length if sign == "-" else length)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnfitError(f"ends with {name[:40]!r}, which is no time zone") from None
