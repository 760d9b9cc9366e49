"""Errors that inference could have, made on purpose: rows that fulfil the conditions show each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from sqlglot import exp
from tests.sql import test_imply
from tests.sql.implied_oracle import broken_by, violations
from tests.sql.random_conditions import Key

from tapestry.sql.infer import forward, propagate, read, shave
from tapestry.sql.infer.kinds import Number, Range, ValueKind
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

    def apply(self: read.Compared, state: propagate.RangeState) -> None:
        for term in (self.left, self.right):
            if self.left.kind.family == "double":
                propagate.require(term, Range(-math.inf, math.inf), state)
        original(self, state)

    original = read.Compared.apply
    patch.setattr(read.Compared, "apply", apply)


def the_inverse_is_trusted(patch: Patch) -> None:
    """An operand lies where the inverse on rationals says."""

    def shaved(term: Term, place: int, ranges: Sequence[Range], wanted: Range) -> Range:
        lo, hi = shave.estimate(term, place, ranges, wanted)
        return ranges[place].meet(Range(lo, hi, wanted.nan))

    patch.setattr(propagate, "shaved", shaved)


def decimals_are_exact(patch: Patch) -> None:
    """A DECIMAL keeps every digit."""

    def rounded(operator: str, kind: ValueKind, value: Number) -> tuple[Number]:
        return (value,)

    patch.setattr(forward, "rounded", rounded)


def casts_are_exact(patch: Patch) -> None:
    """A cast changes no value."""
    patch.setattr(forward, "cast", lambda kind, narrow, one: [one])
    patch.setattr("tapestry.sql.infer.terms.nearest_double", lambda value: value)


MUTANTS: dict[Callable[[Patch], None], dict[str, range]] = {
    rounding_is_strict: {"double": range(11, 200)},
    nothing_wraps: {"int": range(19, 200), "tinyint": range(79, 200)},
    nan_is_the_least: {"double": range(0)},
    the_inverse_is_trusted: {"large decimals": range(9, 200), "double": range(11, 200)},
    decimals_are_exact: {"large decimals": range(9, 200)},
    casts_are_exact: {"doubles of others": range(8, 200)},
}
"""Each with the random conjunctions among which it shows, by their types; the first one of them
does, as these conjunctions are made now."""


def titled(word: str = "") -> Iterator[tuple[dict[Key, str], list[exp.Expr]]]:
    """The conditions of the titled cases, too: NaN shows among those, and seldom by chance."""
    for title, (texts, _) in test_imply.CASES.items():
        if word in title and test_imply.is_evaluated(texts):
            conditions = list(test_imply.knowledge("UTC", texts).conditions)
            yield test_imply.types_of(conditions), conditions


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_each_error_is_seen(monkeypatch: Patch, mutant: Callable[[Patch], None]) -> None:
    mutant(monkeypatch)
    for group, numbers in MUTANTS[mutant].items():
        if any(violations(number, group, tries=8)[1] for number in numbers):
            return
    random = Random(0)
    cases = titled("NaN")
    assert any(broken_by(types, conditions, random, tries=40)[1] for types, conditions in cases)


def test_without_an_error_none_is_seen() -> None:
    random = Random(0)
    for types, conditions in titled():
        assert not broken_by(types, conditions, random, tries=4)[1]
