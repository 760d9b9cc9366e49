"""Ranges: the values that a column or an expression may have where it is not NULL."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tapestry.sql.infer.kinds import Number, ValueKind, at_least, at_most, ends_of


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
