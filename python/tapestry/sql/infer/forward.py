"""The values of an expression as Spark computes them, from the ranges of its operands.

Every range is outward: it may hold more than can come out, never less. Whole numbers and days wrap
around (the adapter sets ANSI off); a DECIMAL or TIMESTAMP that leaves its type is NULL, or an
error, so that no row with one survives a comparison: it is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from fractions import Fraction

from tapestry.sql.infer.kinds import (
    DOUBLE,
    Number,
    Range,
    ValueKind,
    ends_of,
    half_up,
    holds,
    nearest_double,
    size_of,
    whole,
)

_PRODUCT_DIGITS = 39
"""Digits that Spark keeps of a product before it rounds to the scale."""
_QUOTIENT_SCALE = 38
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000


def results(
    operator: str,
    kind: ValueKind,
    kinds: Sequence[ValueKind],
    ranges: Sequence[Range],
    slack: int = 0,
) -> list[Range]:
    """The values of one operation, in pieces: of ``kind`` from operands of ``kinds``.

    ``operator`` is one of ``+ - * / neg cast months``; ``slack`` is by how much an instant may be
    off, of ``months`` how many there are. No piece: it is never a value.
    """
    if operator == "cast":
        return cast(kind, kinds[0], ranges[0])
    if operator == "months":
        return months(kind, ranges[0], slack)
    if kind.family == "double":
        doubles = [one.meet(Range(-math.inf, math.inf, True)) for one in ranges]
        return [of_doubles(operator, *doubles)]
    lo, hi = exact(operator, *ranges)
    if kind.family == "decimal":
        return clipped(kind, rounded(operator, kind, lo), rounded(operator, kind, hi))
    if kind.family == "timestamp":
        return clipped(kind, (lo - slack,), (hi + slack,))
    return wrapped(kind, lo, hi)


def exact(operator: str, one: Range, other: Range | None = None) -> tuple[Number, Number]:
    """Return the least and the greatest value of an operation on rationals."""
    if other is None:
        return -one.hi, -one.lo
    if operator == "+":
        return one.lo + other.lo, one.hi + other.hi
    if operator == "-":
        return one.lo - other.hi, one.hi - other.lo
    corners = [
        x * y if operator == "*" else Fraction(x) / Fraction(y)
        for x in (one.lo, one.hi)
        for y in {other.lo, other.hi}
    ]
    return min(corners), max(corners)


def wrapped(kind: ValueKind, lo: Number, hi: Number) -> list[Range]:
    """Return the ranges of whole numbers after those that overflow have wrapped around."""
    least, most = ends_of(kind)
    size = most - least + 1
    if hi - lo >= size:
        return [whole(kind)]
    turns = (lo - least) // size
    lo, hi = lo - turns * size, hi - turns * size
    return [Range(lo, hi)] if hi <= most else [Range(lo, most), Range(least, hi - size)]


def clipped(kind: ValueKind, lows: Iterable[Number], highs: Iterable[Number]) -> list[Range]:
    """Return the range from the least to the greatest value, cut to the range of its type."""
    found = Range(min(lows), max(highs)).meet(whole(kind))
    return [] if found.empty else [found]


def rounded(operator: str, kind: ValueKind, value: Number) -> tuple[Number, Number]:
    """Return a number, and the DECIMAL that Spark makes of it: halves away from 0, twice.

    Both: another engine may keep the digits that Spark cuts.
    """
    first = value
    if operator == "*":
        first = _product(value)
    elif operator == "/":
        first = half_up(value, _QUOTIENT_SCALE)
    return value, half_up(first, kind.scale)


def _product(value: Number) -> Number:
    """A product cut to 39 digits, zeros in front not counted."""
    size = size_of(value)
    if not size:
        return value
    # Of 0.001 and the like one more is kept, which is 0.
    digits = len(str(math.floor(size))) if size >= 1 else 1 - len(str(math.floor(1 / size)))
    return half_up(value, _PRODUCT_DIGITS - digits)


def of_doubles(operator: str, one: Range, other: Range | None = None) -> Range:
    """Return the range of an operation on doubles, which rounds; infinities may make NaN."""
    if other is None:
        return Range(-one.hi, -one.lo, one.nan)
    if operator == "-":
        other, operator = Range(-other.hi, -other.lo, other.nan), "+"
    nan = one.nan or other.nan
    if operator == "+":
        nan |= one.hi == math.inf and other.lo == -math.inf
        nan |= one.lo == -math.inf and other.hi == math.inf
        lo, hi = _sum(one.lo, other.lo, -math.inf), _sum(one.hi, other.hi, math.inf)
    elif operator == "*":
        nan |= _has_zero(one) and _has_infinity(other)
        nan |= _has_zero(other) and _has_infinity(one)
        corners = [_times(x, y) for x in (one.lo, one.hi) for y in (other.lo, other.hi)]
        lo, hi = min(corners), max(corners)
    else:
        corners = [_times(x, Fraction(1) / Fraction(other.lo)) for x in (one.lo, one.hi)]
        lo, hi = min(corners), max(corners)
    return Range(nearest_double(lo), nearest_double(hi), nan)


def _sum(one: Number, other: Number, otherwise: float) -> Number:
    """Return the sum of two ends; for opposite infinities ``otherwise``, the outer end."""
    if isinstance(one, float) and isinstance(other, float) and one != other:
        return otherwise
    return one + other if not isinstance(one, float) else one


def _times(one: Number, other: Number) -> Number:
    if one == 0 or other == 0:
        return 0
    if isinstance(one, float) or isinstance(other, float):
        return math.inf if (one > 0) == (other > 0) else -math.inf
    return one * other


def _has_zero(one: Range) -> bool:
    return one.lo <= 0 <= one.hi


def _has_infinity(one: Range) -> bool:
    return math.inf in (one.hi, -one.lo)


def cast(kind: ValueKind, narrow: ValueKind, one: Range) -> list[Range]:
    """Return the range after a cast to a kind that is as wide, or rounds: never one that wraps."""
    if kind == narrow or holds(kind, narrow):
        return [one]
    if kind == DOUBLE:
        return [Range(nearest_double(one.lo), nearest_double(one.hi), one.nan)]
    return clipped(
        kind,
        (one.lo, half_up(one.lo, kind.scale)),
        (one.hi, half_up(one.hi, kind.scale)),
    )


def months(kind: ValueKind, one: Range, count: int) -> list[Range]:
    """Return the range so many months later; the result grows with the day.

    It is the same day of the month, or the last one of a shorter month.
    """
    if kind.family == "timestamp":
        near, far = sorted((28 * count, 31 * count))
        # A local time is up to 26 hours off, as the zone has it.
        return clipped(kind, (one.lo + (near - 2) * DAY,), (one.hi + (far + 2) * DAY,))
    least, most = ends_of(kind)
    lo, hi = _months(one.lo, count), _months(one.hi, count)
    return [Range(least if lo is None else lo, most if hi is None else hi)]


def _months(day: Number, count: int) -> int | None:
    """Return a day so many months later; None outside of the calendar's usual range."""
    try:
        start = EPOCH + timedelta(days=int(day))
        year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
        following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
        last = following - timedelta(days=1)
    except (OverflowError, ValueError):
        return None
    return (last.replace(day=min(start.day, last.day)) - EPOCH).days
