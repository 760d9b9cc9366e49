"""Reads literals of numbers, dates and timestamps as exact values with Spark's types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from tapestry.sql.facts.common_types import type_of
from tapestry.sql.infer.kinds import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    TIMESTAMP,
    Number,
    ValueKind,
    ends_of,
    nearest_double,
    value_kind,
)

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?)?"
)
_NUMBER = re.compile(r"(?:\d{1,76}\.?\d{0,76}|\.\d{1,76})(?:[eE][+-]?\d{1,3})?")
_FIRST, _LAST = 1970, 2037
"""Years in which every copy of the zones' rules says the same of local times."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Constant:
    """A value, exact; ``literal``: a bare number, not a cast of one."""

    kind: ValueKind
    value: Number
    literal: bool = False


def constant_of(node: exp.Expr, zone: str) -> Constant | None:
    """Return the value of a literal, perhaps cast; None for anything else.

    >>> constant_of(exp.maybe_parse("-0.50", dialect="spark"), "UTC").value
    Fraction(-1, 2)
    """
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return None if node.is_string else read_number(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return None if node.this.is_string else read_number("-" + node.this.name)
    if not isinstance(node, exp.Cast) or node.args.get("format"):
        return None
    kind, inner = value_kind(type_of(node)), node.this
    if kind is None or not isinstance(inner, exp.Literal):
        return None
    if inner.is_string and kind in (DATE, TIMESTAMP):
        return read_text(inner.name, kind, zone)
    known = read_number(inner.name)
    if known is None or (inner.is_string and kind.family != "decimal"):
        return None
    return _as_kind(known, kind)


def read_number(text: str) -> Constant | None:
    """A bare number: whole ones as small as fits, DECIMAL with a point, DOUBLE with an exponent."""
    negative, digits = text.startswith("-"), text.lstrip("-")
    if not _NUMBER.fullmatch(digits):
        return None
    # sql: digits alone, of which the type is asked
    kind = value_kind(type_of(exp.Literal.number(digits)))
    exact = Fraction(digits.removesuffix("."))
    exact = -exact if negative else exact
    if "e" in digits.lower():
        rounded = nearest_double(exact)
        return None if isinstance(rounded, float) else Constant(DOUBLE, rounded, True)
    if exact.denominator == 1 and "." not in digits:
        for whole in (INT, BIGINT):
            least, most = ends_of(whole)
            if least <= exact <= most:
                return Constant(whole, exact.numerator, True)
    return None if kind is None or kind.family != "decimal" else Constant(kind, exact, True)


def read_text(text: str, kind: ValueKind, zone: str) -> Constant | None:
    """A text as the DATE or TIMESTAMP that Spark reads in it; None where that is not certain."""
    try:
        if kind == DATE:
            if not _DATE.fullmatch(text):
                return None
            return Constant(DATE, (date.fromisoformat(text) - date(1970, 1, 1)).days)
        return _instant(text, zone)
    except ValueError:
        return None


def _instant(text: str, zone: str) -> Constant | None:
    """A text with an offset, or read in the session's zone: of two instants the earlier one."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        return None
    day, time, fraction, offset = found.groups()
    written = datetime.fromisoformat(f"{day} {time or '00:00:00'}.{(fraction or '').ljust(6, '0')}")
    if offset:
        local = datetime.fromisoformat(f"{written.isoformat()}{offset.replace('Z', '+00:00')}")
    elif zone.upper() == "UTC":
        local = written.replace(tzinfo=timezone.utc)
    else:
        if not _FIRST <= written.year <= _LAST:
            return None
        try:
            local = written.replace(tzinfo=ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError):
            return None
    apart = local - _EPOCH
    micros = (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds
    return Constant(TIMESTAMP, micros)


def _as_kind(known: Constant, kind: ValueKind) -> Constant | None:
    """A number cast to a kind that holds it as it is, or to DOUBLE."""
    if kind == DOUBLE:
        rounded = nearest_double(known.value)
        return None if isinstance(rounded, float) else Constant(DOUBLE, rounded)
    if kind.family not in ("integer", "decimal") or known.kind == DOUBLE:
        return None
    least, most = ends_of(kind)
    fits = (Fraction(known.value) * 10**kind.scale).denominator == 1
    return Constant(kind, known.value) if fits and least <= known.value <= most else None
