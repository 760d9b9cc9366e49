"""Facts about lengths of time: which intervals are a fixed number of microseconds."""

from __future__ import annotations

import re
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

SHORT_UNITS = frozenset({"MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"})
DAY_UNITS = frozenset({"DAY", "WEEK"})
DAY = 86_400_000_000
_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 604_800_000_000,
}
_PART = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s+([a-z]+)\s*")
_LONGEST = 200
"""Characters of an interval that is read here."""
_OFFSET = re.compile(r"^(UTC|GMT|UT)?[+-]\d{1,2}(:?\d{2}){0,2}$", re.IGNORECASE)
_DAYS = 3_700_000
"""More than there are from the year 1 to the year 9999."""
_PER_DAY = {
    "MICROSECOND": 86_400_000_000,
    "MILLISECOND": 86_400_000,
    "SECOND": 86_400,
    "MINUTE": 1_440,
    "HOUR": 24,
}


def zone_is_fixed(zone: str) -> bool:
    """Return whether a session zone has no transitions, so that a day always has 24 hours.

    >>> zone_is_fixed("UTC"), zone_is_fixed("+02:00"), zone_is_fixed("Europe/Berlin")
    (True, True, False)
    """
    if zone.upper() in {"UTC", "Z", "GMT", "UT", "ETC/UTC"} or _OFFSET.match(zone):
        return True
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    return zone.startswith("Etc/")


def unit_name(node: exp.Expr | None) -> str:
    """The unit of an interval in upper case and singular; '' where there is none."""
    if node is None:
        return ""
    if isinstance(node, exp.IntervalSpan):
        return "WEEK" if node.this.name.upper() not in {"YEAR", "MONTH"} else "MONTH"
    name = node.name.upper()
    return name[:-1] if name.endswith("S") else name


def span_of(node: exp.Expr) -> str:
    """Return the length of an interval: 'short' (less than a day, surely), 'day', or '' if not
    fixed.

    Spark adds the whole days of any interval by the calendar, those of 28 hours too, and the
    difference of two timestamps is that of their local times: where days differ in length only a
    short interval is fixed.  Months and years never are, nor is one whose text is not understood.

    >>> from sqlglot import parse_one
    >>> texts = ("3 hours", "28 hours", "'1 day 2 hours'", "1 month", "'1 day 2 months'")
    >>> [span_of(parse_one(f"interval {text}", dialect="spark")) for text in texts]
    ['short', 'day', 'day', '', '']
    """
    known = length_of(node)
    if known is not None:
        return "short" if abs(known) < _MICROS["DAY"] else "day"
    if isinstance(node, exp.Paren | exp.Neg):
        return span_of(node.this)
    if isinstance(node, exp.Interval):
        return "day" if unit_name(node.args.get("unit")) in _MICROS else ""
    if isinstance(node, exp.Cast) and isinstance(node.to.this, exp.Interval):
        return span_of(node.to.this)
    if isinstance(node, exp.Sub) and _is_time(node.this) and _is_time(node.expression):
        return "day"
    if isinstance(node, exp.Add | exp.Sub):
        return "day" if span_of(node.this) and span_of(node.expression) else ""
    if isinstance(node, exp.Mul):
        return "day" if span_of(node.this) or span_of(node.expression) else ""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "make_dt_interval":
        return "day"
    return ""


def is_in_days(node: exp.Expr) -> bool:
    """Return whether an interval of fixed length has only days: a date plus it is a date."""
    if isinstance(node, exp.Paren | exp.Neg):
        return is_in_days(node.this)
    if isinstance(node, exp.Cast) and isinstance(node.to.this, exp.Interval):
        return is_in_days(node.to.this)
    if isinstance(node, exp.Interval):
        unit = node.args.get("unit")
        return not isinstance(unit, exp.IntervalSpan) and unit_name(unit) in DAY_UNITS
    if isinstance(node, exp.Sub) and _is_time(node.this):
        return bool(node.this.is_type("date") and node.expression.is_type("date"))
    if isinstance(node, exp.Add | exp.Sub):
        return is_in_days(node.this) and is_in_days(node.expression)
    return False


def length_of(node: exp.Expr) -> int | None:
    """The length of a written interval in microseconds; None where it is not written, or not fixed.

    A day counts 24 hours: in a zone with transitions what is a day long or longer is not fixed.

    >>> from sqlglot import parse_one
    >>> length_of(parse_one("interval '-1 day 1.5 seconds'", dialect="spark"))
    -86398500000
    """
    if isinstance(node, exp.Paren):
        return length_of(node.this)
    if isinstance(node, exp.Neg):
        inner = length_of(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Interval):
        return None
    if isinstance(node.this, exp.Neg):
        return length_of(
            exp.Neg(this=exp.Interval(this=node.this.this, unit=node.args.get("unit")))
        )
    unit = node.args.get("unit")
    if not isinstance(node.this, exp.Literal) or isinstance(unit, exp.IntervalSpan):
        return None
    text = node.name.lower() if unit is None else f"{node.name} {unit.name.lower()}"
    # Without runs of spaces and endless digits: the pattern would try each way to share them out.
    text = " ".join(text.split()) if len(text) <= _LONGEST else ""
    if not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        return None
    total = 0
    for count, name in _PART.findall(text):
        size = _MICROS.get(unit_name(exp.var(name)))
        if size is None:
            return None
        total += int(Decimal(count.replace(" ", "")) * size)
    return total


def _is_time(node: exp.Expr) -> bool:
    times = ("date", "timestamp", "timestamptz", "timestampntz", "timestampltz", "datetime")
    return bool(node.unnest().is_type(*times))


def most_of(side: exp.Expr) -> int:
    """Return a count of units that leads from any instant beyond every other (years 1 to 9999).

    >>> most_of(exp.UnixSeconds(this=exp.CurrentTimestamp()))
    319680000000
    """
    if isinstance(side, exp.Year | exp.Extract):
        return 12_000
    if isinstance(side, exp.TimestampDiff):
        return _DAYS * _PER_DAY.get(unit_name(side.args.get("unit")), 1)
    if isinstance(side, exp.DateDiff):
        return _DAYS
    micros, millis = isinstance(side, exp.UnixMicros), isinstance(side, exp.UnixMillis)
    unit = "MICROSECOND" if micros else "MILLISECOND" if millis else "SECOND"
    return _DAYS * _PER_DAY[unit]


def base_and_offset(bound: exp.Expr, zone: str) -> tuple[exp.Expr, int]:
    """Return a bound as ``base`` and ``offset`` in microseconds, all fixed intervals taken off.

    In a zone with transitions the offset is less than a day: the whole days of a longer interval,
    moved to the other side of a comparison, would be days of the calendar there.
    """
    offset = 0
    while isinstance(bound, exp.Add | exp.Sub | exp.Paren):
        if isinstance(bound, exp.Paren):
            bound = bound.this
            continue
        base, moved = bound.this, bound.expression
        if isinstance(bound, exp.Add) and isinstance(base, exp.Interval):
            base, moved = moved, base
        step = length_of(moved)
        if step is None:
            break
        total = offset + (step if isinstance(bound, exp.Add) else -step)
        if max(abs(step), abs(total)) >= DAY and not zone_is_fixed(zone):
            break
        offset, bound = total, base
    return bound, offset
