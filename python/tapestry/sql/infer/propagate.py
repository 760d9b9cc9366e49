"""Ranges from conditions: each narrows those of its columns, until nothing changes (HC4).

What is known after any number of rounds holds, so that a bound on them costs nothing but ends that
could be tighter: ``a >= b + 1 AND b >= a`` would climb for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tapestry.sql.infer.kinds import Range, ValueKind, hull, whole
from tapestry.sql.infer.shave import computed, shaved
from tapestry.sql.infer.terms import Key, Term

Why = frozenset[int]
"""Numbers of the conditions that gave something."""
NOBODY: Why = frozenset()


class ContradictionError(Exception):
    """Conditions that no row fulfils, so that no range is known."""


@dataclass(frozen=True)
class KnownRange:
    """The known range of a column that is not NULL, and the conditions that gave each end."""

    kind: ValueKind
    range: Range
    low: Why = NOBODY
    high: Why = NOBODY

    @property
    def why(self) -> Why:
        """The conditions that gave either end."""
        return self.low | self.high


Facts = Mapping[Key, Range]
"""Ranges that the values of columns are in where they are not NULL: what was measured."""


@dataclass
class RangeState:
    """The ranges known so far; ``columns`` has those that some condition needs not NULL."""

    facts: Facts
    columns: dict[Key, KnownRange] = field(default_factory=dict)
    why: Why = NOBODY
    """The condition that is at work, and those that the ranges of its columns come from."""
    changed: bool = False

    def known(self, key: Key, kind: ValueKind) -> KnownRange:
        """Return the known range of a column."""
        found = self.columns.get(key)
        if found is None:
            fact = self.facts.get(key)
            found = KnownRange(kind, whole(kind) if fact is None else whole(kind).meet(fact))
            self.columns[key] = found
        return found

    def narrow(self, key: Key, kind: ValueKind, to: Range) -> None:
        """Intersect the range of a column with another one."""
        found = self.known(key, kind)
        met = found.range.meet(to).on_grid(kind)
        if met.empty:
            raise ContradictionError
        if met == found.range:
            return
        raised = met.lo > found.range.lo
        lowered = met.hi < found.range.hi or met.nan != found.range.nan
        low, high = self.why if raised else found.low, self.why if lowered else found.high
        self.columns[key] = KnownRange(kind, met, low, high)
        self.changed = True

    def copy(self) -> RangeState:
        """Return an independent copy."""
        return RangeState(self.facts, dict(self.columns), self.why)


class Constraint(Protocol):
    """A condition that narrows ranges of columns."""

    @property
    def columns(self) -> frozenset[Key]:
        """The columns of the condition."""

    def apply(self, state: RangeState) -> None:
        """Narrow the known ranges; raise ContradictionError if no row fulfils the condition."""


def forward(term: Term, state: RangeState) -> Range:
    """Return the range of an expression where it is not NULL."""
    if term.operator == "column":
        return state.known(term.key, term.kind).range
    if term.operator == "constant":
        return Range(term.value, term.value)
    found = hull(computed(term, [forward(one, state) for one in term.args]))
    if found is None:
        raise ContradictionError
    return found


def require(term: Term, wanted: Range, state: RangeState) -> None:
    """Narrow the operands of an expression, given the range of its result."""
    if term.operator == "column":
        state.narrow(term.key, term.kind, wanted)
        return
    ranges = [] if term.operator == "constant" else [forward(one, state) for one in term.args]
    found = forward(term, state)
    met = found.meet(wanted)
    if met.empty:
        raise ContradictionError
    if met == found or term.operator == "constant":
        return
    for place, one in enumerate(term.args):
        if one.operator == "constant":
            continue
        narrower = shaved(term, place, ranges, met)
        if narrower.empty:
            raise ContradictionError
        if narrower != ranges[place]:
            require(one, narrower, state)
            ranges[place] = narrower


def fixpoint(constraints: Mapping[int, Constraint], facts: Facts) -> RangeState | None:
    """Return the ranges from conditions, by number; None if they contradict each other."""
    state = RangeState(facts)
    rounds = len({key for one in constraints.values() for key in one.columns}) + 2
    try:
        for _ in range(rounds):
            state.changed = False
            for number, one in constraints.items():
                state.why = frozenset((number,)).union(
                    *(state.columns[key].why for key in one.columns if key in state.columns)
                )
                one.apply(state)
            if not state.changed:
                break
    except ContradictionError:
        return None
    return state


def joined(states: Sequence[RangeState], before: RangeState, columns: Iterable[Key]) -> None:
    """Narrow ``before`` by the ranges that hold in every one of some states."""
    for key in columns:
        found = [state.columns.get(key) for state in states]
        kept = [one for one in found if one is not None]
        if len(kept) != len(found):
            continue  # one of them says nothing of it: it may be NULL there
        span = hull(one.range for one in kept)
        if span is not None:
            before.narrow(key, kept[0].kind, span)
