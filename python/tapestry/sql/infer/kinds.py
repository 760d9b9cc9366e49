"""The kinds of values, in which Spark computes, and the ranges of values that are tracked.

Every kind has a grid: whole numbers, multiples of ``10 ** -scale``, doubles. Ends of ranges are
exact rationals on it, so that each end is closed: ``x > 1`` of a DECIMAL(15,2) is ``x >= 1.01``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Number = int | Fraction | float
"""Exact; a float only where it is infinite."""

MOST_DIGITS = 38
"""The maximum number of digits of a DECIMAL."""
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""Digits that whole numbers of so many bits have as a DECIMAL."""
_DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
_LEAST_SCALE = 6
"""Digits behind the point that a DECIMAL keeps where it is cut to 38."""


@dataclass(frozen=True)
class ValueKind:
    """The type of a value: ``family`` is integer, decimal, double, date or timestamp.

    bits
        Of whole numbers, days and microseconds.
    precision, scale
        Digits of a DECIMAL, in all and behind the point.
    """

    family: str
    bits: int = 0
    precision: int = 0
    scale: int = 0


DOUBLE = ValueKind("double")
DATE = ValueKind("date", bits=32)
TIMESTAMP = ValueKind("timestamp", bits=64)
INT = ValueKind("integer", bits=32)
BIGINT = ValueKind("integer", bits=64)


@lru_cache(maxsize=500)
def value_kind(name: str) -> ValueKind | None:
    """Return the kind of a type by its name in Spark; None if its ranges are not tracked.

    >>> value_kind("decimal(15,2)"), value_kind("string")
    (ValueKind(family='decimal', bits=0, precision=15, scale=2), None)
    """
    if name in _INTEGERS:
        return ValueKind("integer", bits=_INTEGERS[name])
    found = _DECIMAL.fullmatch(name)
    if found:
        precision, scale = int(found[1]), int(found[2])
        fits = scale <= precision <= MOST_DIGITS
        return ValueKind("decimal", precision=precision, scale=scale) if fits else None
    return {"double": DOUBLE, "date": DATE, "timestamp": TIMESTAMP}.get(name)


@lru_cache(maxsize=500)
def ends_of(kind: ValueKind) -> tuple[Number, Number]:
    """Return the least and the greatest value of a kind; infinite for doubles."""
    if kind.family == "double":
        return -math.inf, math.inf
    if kind.family == "decimal":
        most = Fraction(10**kind.precision - 1, 10**kind.scale)
        return -most, most
    half = 1 << (kind.bits - 1)
    return -half, half - 1


def at_least(kind: ValueKind, value: Number, strict: bool = False) -> Number:
    """Return the least value of a kind that is ``>= value``; ``strict``: ``> value``.

    >>> at_least(INT, Fraction(5, 2)), at_least(INT, 2, strict=True)
    (3, 3)
    """
    if kind.family == "double":
        return _double_above(value, strict)
    if isinstance(value, float):
        return value
    unit = 10**kind.scale
    scaled = value * unit
    whole = math.floor(scaled) + 1 if strict else math.ceil(scaled)
    return Fraction(whole, unit) if kind.scale else whole


def at_most(kind: ValueKind, value: Number, strict: bool = False) -> Number:
    """Return the greatest value of a kind that is ``<= value``; ``strict``: ``< value``."""
    return -at_least(kind, -value, strict)


def size_of(value: Number) -> Number:
    """Return the absolute value of a number."""
    return -value if value < 0 else value


def nearest_double(value: Number) -> Number:
    """Return the double nearest to a number, exactly: the result of a cast to DOUBLE.

    >>> nearest_double(9007199254740993)
    Fraction(9007199254740992, 1)
    """
    return _exact(_to_float(value))


def _to_float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _exact(value: float) -> Number:
    return value if math.isinf(value) else Fraction(value)


def _double_above(value: Number, strict: bool) -> Number:
    near = _to_float(value)
    exact = _exact(near)
    if exact < value or (strict and exact == value):
        near = math.nextafter(near, math.inf)
    return _exact(near)


def half_up(value: Number, scale: int) -> Number:
    """Return a number rounded to digits after the point, halves away from 0.

    >>> half_up(Fraction(-5, 2), 0), half_up(Fraction(12345, 100), 1)
    (-3, Fraction(247, 2))
    """
    if isinstance(value, float):
        return value
    scaled = size_of(value) * 10**scale
    whole = math.floor(scaled + Fraction(1, 2))
    rounded = Fraction(whole, 10**scale) if scale > 0 else whole * 10**-scale
    return -rounded if value < 0 else rounded


def as_decimal(kind: ValueKind) -> ValueKind:
    """Return the DECIMAL to which whole numbers are cast beside a DECIMAL."""
    if kind.family == "decimal":
        return kind
    return ValueKind("decimal", precision=_DIGITS[kind.bits])


def wider(one: ValueKind, other: ValueKind) -> ValueKind | None:
    """Return the kind in which Spark compares two values; None if not certain, or not exact.

    Two DECIMALs that have no common one of 38 digits are compared after a cut.
    """
    if one == other:
        return one
    families = {one.family, other.family}
    if not families <= {"integer", "decimal", "double"}:
        return None
    if "double" in families:
        return DOUBLE
    if families == {"integer"}:
        return max(one, other, key=lambda kind: kind.bits)
    left, right = as_decimal(one), as_decimal(other)
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return (
        ValueKind("decimal", precision=precision, scale=scale) if precision <= MOST_DIGITS else None
    )


def holds(wide: ValueKind, narrow: ValueKind) -> bool:
    """Return whether all values of ``narrow`` are in ``wide``, so that a cast changes nothing."""
    if wide == narrow:
        return True
    if wide.family == narrow.family == "integer":
        return wide.bits >= narrow.bits
    if wide.family == "double" or wide.family != "decimal":
        return False
    if narrow.family not in ("integer", "decimal"):
        return False
    other = as_decimal(narrow)
    whole = wide.precision - wide.scale >= other.precision - other.scale
    return whole and wide.scale >= other.scale


def result_of(operator: str, one: ValueKind, other: ValueKind) -> ValueKind | None:
    """The kind of ``one operator other``, for ``+ - * /`` of numbers; None: not certain."""
    families = {one.family, other.family}
    if not families <= {"integer", "decimal", "double"}:
        return None
    if "double" in families or (families == {"integer"} and operator == "/"):
        return DOUBLE
    if families == {"integer"}:
        return max(one, other, key=lambda kind: kind.bits)
    left, right = as_decimal(one), as_decimal(other)
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    if operator in "+-":
        scale = max(s1, s2)
        return _cut(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "*":
        return _cut(p1 + p2 + 1, s1 + s2)
    scale = max(_LEAST_SCALE, s1 + p2 + 1)
    return _cut(p1 - s1 + s2 + scale, scale)


def _cut(precision: int, scale: int) -> ValueKind:
    """Return a DECIMAL kind, its scale cut as Spark does for more than 38 digits."""
    if precision > MOST_DIGITS:
        whole = precision - scale
        scale = max(MOST_DIGITS - whole, min(scale, _LEAST_SCALE))
        precision = MOST_DIGITS
    return ValueKind("decimal", precision=precision, scale=scale)


# -- ranges ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Range:
    """The values from ``lo`` to ``hi``, both included; ``nan``: with NaN, above all numbers."""

    lo: Number
    hi: Number
    nan: bool = False

    @property
    def empty(self) -> bool:
        """Whether the range has no value."""
        return self.lo > self.hi and not self.nan

    def meet(self, other: Range) -> Range:
        """Return the intersection of two ranges."""
        nan = self.nan and other.nan
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        # Only NaN is left: as a range with a number, which is more than there is.
        return Range(math.inf, math.inf, True) if nan and lo > hi else Range(lo, hi, nan)

    def meets(self, other: Range) -> bool:
        """Return whether two ranges have a value in common."""
        return not self.meet(other).empty

    def on_grid(self, kind: ValueKind) -> Range:
        """Return the range cut to values that the kind has."""
        return Range(at_least(kind, self.lo), at_most(kind, self.hi), self.nan)


def whole(kind: ValueKind) -> Range:
    """Return all values of a kind."""
    lo, hi = ends_of(kind)
    return Range(lo, hi, kind.family == "double")


def hull(ranges: Iterable[Range]) -> Range | None:
    """Return the least range that contains all of these; None if there are none."""
    kept = [one for one in ranges if not one.empty]
    if not kept:
        return None
    return Range(
        min(one.lo for one in kept), max(one.hi for one in kept), any(one.nan for one in kept)
    )
