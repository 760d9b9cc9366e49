"""Errors that inference could have, made on purpose: rows that fulfil the conditions show each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from tests.sql.implied_oracle import violations

from tapestry.sql.infer import forward, propagate, read, shave
from tapestry.sql.infer.kinds import Kind, Number
from tapestry.sql.infer.ranges import Range
from tapestry.sql.infer.terms import Term

Patch = pytest.MonkeyPatch


def rounding_is_strict(patch: Patch) -> None:
    """A DOUBLE is as exact as a rational: what is above an end stays above it."""
    patch.setattr(forward, "nearest_double", lambda value: value)


def nothing_wraps(patch: Patch) -> None:
    """Whole numbers and days that leave their type are cut off, as if they were NULL."""
    patch.setattr(forward, "wrapped", lambda kind, lo, hi: forward.clipped(kind, (lo,), (hi,)))


def nan_is_the_least(patch: Patch) -> None:
    """NaN is below all numbers, or no value at all."""

    def apply(self: read.Comparison, state: propagate.State) -> None:
        for term in (self.left, self.right):
            if self.left.kind.family == "double":
                propagate.require(term, Range(-math.inf, math.inf), state)
        original(self, state)

    original = read.Comparison.apply
    patch.setattr(read.Comparison, "apply", apply)


def the_inverse_is_trusted(patch: Patch) -> None:
    """An operand lies where the inverse on rationals says."""

    def shaved(term: Term, place: int, ranges: Sequence[Range], wanted: Range) -> Range:
        lo, hi = shave.estimate(term, place, ranges, wanted)
        return ranges[place].meet(Range(lo, hi, wanted.nan))

    patch.setattr(propagate, "shaved", shaved)


def decimals_are_exact(patch: Patch) -> None:
    """A DECIMAL keeps every digit."""

    def rounded(operator: str, kind: Kind, value: Number) -> tuple[Number]:
        return (value,)

    patch.setattr(forward, "rounded", rounded)


def casts_are_exact(patch: Patch) -> None:
    """A cast changes no value."""
    patch.setattr(forward, "cast", lambda kind, narrow, one: [one])
    patch.setattr("tapestry.sql.infer.terms.nearest_double", lambda value: value)


MUTANTS: dict[Callable[[Patch], None], tuple[str, ...]] = {
    rounding_is_strict: ("double",),
    nothing_wraps: ("tinyint", "int"),
    nan_is_the_least: ("double",),
    the_inverse_is_trusted: ("double", "tinyint", "large decimals"),
    decimals_are_exact: ("large decimals", "decimals"),
    casts_are_exact: ("doubles of others", "numbers"),
}
"""Each with the types among which it shows."""
MOST = 1_500


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_each_error_is_seen(monkeypatch: Patch, mutant: Callable[[Patch], None]) -> None:
    mutant(monkeypatch)
    for seed in range(MOST):
        for group in MUTANTS[mutant]:
            if violations(seed, group, tries=8)[1]:
                return
    pytest.fail(f"{mutant.__name__} is not seen in {MOST} conjunctions of each type")
