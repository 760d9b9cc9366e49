"""Facts about lengths of time: which intervals are a fixed number of microseconds."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

SHORT_UNITS = frozenset({"MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"})
DAY_UNITS = frozenset({"DAY", "WEEK"})
_OFFSET = re.compile(r"^(UTC|GMT|UT)?[+-]\d{1,2}(:?\d{2}){0,2}$", re.IGNORECASE)


def zone_is_fixed(zone: str) -> bool:
    """Has this session zone no transitions, so that a day always has 24 hours?

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
    """How long an interval expression is: 'short' (below a day's unit), 'day', or '' if not fixed.

    Months and years have no fixed length; so has an interval whose text is not understood.

    >>> from sqlglot import parse_one
    >>> [span_of(parse_one(s, dialect="spark")) for s in ("interval 3 hours", "interval 1 month")]
    ['short', '']
    """
    if isinstance(node, exp.Paren | exp.Neg):
        return span_of(node.this)
    if isinstance(node, exp.Interval):
        unit = unit_name(node.args.get("unit"))
        return "short" if unit in SHORT_UNITS else "day" if unit in DAY_UNITS else ""
    if isinstance(node, exp.Add | exp.Sub):
        spans = {span_of(node.this), span_of(node.expression)}
        return "" if "" in spans else "day" if "day" in spans else "short"
    if isinstance(node, exp.Mul):
        return span_of(node.this) or span_of(node.expression)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "make_dt_interval":
        return "day"
    return ""
