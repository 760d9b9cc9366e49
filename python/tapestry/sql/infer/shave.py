"""Narrows the range of an operand, given that of the result, by trials instead of an inverse.

Part of the operand's range, at one of its ends, is taken off where nothing that Spark computes from
it lies in the wanted range. Which part is tried is told by the inverse on rationals; where Spark
rounds, or wraps around, that part may be too large, and ever smaller ones are tried. So all that
has to be right is ``tapestry.sql.infer.forward``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tapestry.sql.infer.forward import DAY, results
from tapestry.sql.infer.kinds import Number, Range, ValueKind, at_least, at_most, size_of
from tapestry.sql.infer.terms import Term

_STEPS = (0, Fraction(1, 2), 1, 2, 16)
"""The distances from the algebraic end that are tried, in units to which a result is rounded."""


def shaved(term: Term, place: int, ranges: Sequence[Range], wanted: Range) -> Range:
    """Return the range of an operand of ``term`` where its result is in ``wanted``.

    ``ranges`` are those of all operands.
    """
    one, kind = ranges[place], term.args[place].kind
    lo, hi = estimate(term, place, ranges, wanted)

    def free(part: Range) -> bool:
        tried = [part if n == place else known for n, known in enumerate(ranges)]
        return not any(piece.meets(wanted) for piece in computed(term, tried))

    for step in () if isinstance(lo, float) else _tried(term, place, ranges, wanted.lo):
        below = at_most(kind, lo - step, strict=True)
        if below < one.lo:
            break
        if free(Range(one.lo, min(below, one.hi))):
            one = Range(at_least(kind, below, strict=True), one.hi, one.nan)
            break
    for step in () if isinstance(hi, float) else _tried(term, place, ranges, wanted.hi):
        above = at_least(kind, hi + step, strict=True)
        if above > one.hi and not one.nan:
            break
        if free(Range(max(above, one.lo), max(above, one.hi), one.nan)):
            one = Range(one.lo, min(one.hi, at_most(kind, above, strict=True)))
            break
    return one


def computed(term: Term, ranges: Sequence[Range]) -> list[Range]:
    """Return the range of a term from those of its operands, in pieces."""
    kinds = [one.kind for one in term.args]
    return results(term.operator, term.kind, kinds, ranges, term.slack)


def estimate(
    term: Term, place: int, ranges: Sequence[Range], wanted: Range
) -> tuple[Number, Number]:
    """Return the range of an operand by the inverse on rationals, a guess that may be wrong."""
    lo, hi = wanted.lo, wanted.hi
    if term.operator == "neg":
        return -hi, -lo
    if term.operator == "cast":
        return lo, hi
    if term.operator == "months":
        near, far = sorted((28 * term.slack, 31 * term.slack))
        days = DAY if term.kind.family == "timestamp" else 1
        return lo - near * days, hi - far * days
    other = ranges[1 - place]
    if term.operator == "+":
        return _less(lo, other.hi, -math.inf) - term.slack, (
            _less(hi, other.lo, math.inf) + term.slack
        )
    if term.operator == "-" and place == 0:
        return _less(lo, -other.lo, -math.inf) - term.slack, (
            _less(hi, -other.hi, math.inf) + term.slack
        )
    if term.operator == "-":
        return _less(other.lo, hi, -math.inf), _less(other.hi, lo, math.inf)
    if term.operator == "/":
        ends = [_scaled(lo, other.lo), _scaled(hi, other.lo)]
        return min(ends), max(ends)
    return _quotient(wanted, other)


def _less(one: Number, other: Number, unknown: float) -> Number:
    """``one - other``; ``unknown`` where an end is infinite."""
    return unknown if math.inf in (abs(one), abs(other)) else one - other


def _scaled(one: Number, factor: Number) -> Number:
    if isinstance(one, float):
        return one if factor > 0 else -one
    return one * factor


def _quotient(wanted: Range, other: Range) -> tuple[Number, Number]:
    """The numbers x for which ``x * y`` is wanted, for y of one sign."""
    if other.hi <= 0 and other.lo < 0:
        lo, hi = _quotient(wanted, Range(-other.hi, -other.lo))
        return -hi, -lo
    if other.lo < 0:
        return -math.inf, math.inf
    # The further from 0 the product has to be, the less y can help; 0 itself does not at all.
    far, near = other.hi, other.lo
    lo = _over(wanted.lo, far if wanted.lo > 0 else near)
    hi = _over(wanted.hi, far if wanted.hi < 0 else near)
    return lo, hi


def _over(end: Number, divisor: Number) -> Number:
    if end == 0:
        return 0
    if isinstance(end, float):
        return end
    if divisor == 0:
        return math.inf if end > 0 else -math.inf
    return 0 if isinstance(divisor, float) else Fraction(end) / Fraction(divisor)


def _tried(term: Term, place: int, ranges: Sequence[Range], end: Number) -> Iterator[Number]:
    """Yield ends to try, from the outermost; a single one if the first trial needs no rounding."""
    if isinstance(end, float):
        return
    unit = _unit(term.kind, end)
    if term.operator == "months":
        months, days = abs(term.slack), DAY if term.kind.family == "timestamp" else 1
        yield from (days * step for step in (0, 1, 2, 3, months + 3, 3 * months + 4))
        return
    if term.operator == "*":
        sizes = [size_of(one) for one in (ranges[1 - place].lo, ranges[1 - place].hi)]
        least = min((one for one in sizes if one and not isinstance(one, float)), default=1)
        unit = Fraction(unit) / Fraction(least)
    elif term.operator == "/":
        unit = unit * size_of(ranges[1].lo)
    yield from (unit * step for step in _STEPS)


def _unit(kind: ValueKind, end: Number) -> Number:
    """Return the unit to which a result near an end is rounded."""
    if kind.family == "decimal":
        return Fraction(1, 10**kind.scale)
    if kind.family != "double":
        return 1
    return max(size_of(end) * Fraction(1, 1 << 52), Fraction(1, 1 << 1074))
