"""Reads conditions as constraints on ranges: comparisons, BETWEEN, IN, and AND and OR of those."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.infer.constants import read_text
from tapestry.sql.infer.forward import EPOCH
from tapestry.sql.infer.kinds import (
    DATE,
    DOUBLE,
    TIMESTAMP,
    Range,
    ValueKind,
    at_least,
    at_most,
    hull,
    wider,
)
from tapestry.sql.infer.propagate import (
    Constraint,
    ContradictionError,
    RangeState,
    forward,
    joined,
    require,
)
from tapestry.sql.infer.terms import Key, Term, cast_to, compared, term_of
from tapestry.sql.work import size

ARMS = 16
"""The maximum number of alternatives that are examined; of more, only their hull, or nothing."""
LARGEST = 400
"""Nodes of a condition that is read."""
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_NEGATED: dict[type[exp.Expr], str] = {
    exp.NEQ: "=",
    exp.LT: ">=",
    exp.LTE: ">",
    exp.GT: "<=",
    exp.GTE: "<",
}
_MIRRORED = {"<": ">", "<=": ">="}


@dataclass(frozen=True, eq=False)
class Compared:
    """``left operator right`` for ``= > >=``, both of one kind."""

    left: Term
    operator: str
    right: Term

    @property
    def columns(self) -> frozenset[Key]:
        """The columns of both sides."""
        return self.left.columns() | self.right.columns()

    def apply(self, state: RangeState) -> None:
        """Narrow both sides, each by the other."""
        left, right = forward(self.left, state), forward(self.right, state)
        kind, strict = self.left.kind, self.operator == ">"
        if self.operator == "=":
            met = left.meet(right)
            if met.empty:
                raise ContradictionError
            require(self.left, met, state)
            require(self.right, met, state)
            return
        low = at_least(kind, right.lo, strict)
        high = math.inf if left.nan else at_most(kind, left.hi, strict)
        nan = kind.family == "double"
        require(self.left, Range(low, math.inf, nan), state)
        # NaN is the greatest, and equals itself.
        require(self.right, Range(-math.inf, high, nan and left.nan and not strict), state)


@dataclass(frozen=True, eq=False)
class OneOf:
    """``left IN (values)``, all of its kind."""

    left: Term
    values: tuple[Range, ...]

    @property
    def columns(self) -> frozenset[Key]:
        """The columns of the left side."""
        return self.left.columns()

    def apply(self, state: RangeState) -> None:
        """Narrow to the hull of the values that are possible."""
        found = forward(self.left, state)
        span = hull(one for one in self.values if one.meets(found))
        if span is None:
            raise ContradictionError
        require(self.left, span, state)


@dataclass(frozen=True, eq=False)
class Together:
    """AND of constraints."""

    parts: tuple[Constraint, ...]

    @property
    def columns(self) -> frozenset[Key]:
        """The columns of all of them."""
        return frozenset(key for one in self.parts for key in one.columns)

    def apply(self, state: RangeState) -> None:
        """Narrow by each of them."""
        for one in self.parts:
            one.apply(state)


@dataclass(frozen=True, eq=False)
class Either:
    """OR of constraints, which narrows by what all those agree on that can be true."""

    arms: tuple[Constraint, ...]

    @property
    def columns(self) -> frozenset[Key]:
        """The columns of all of them."""
        return frozenset(key for one in self.arms for key in one.columns)

    def apply(self, state: RangeState) -> None:
        """Narrow to the hull of the ranges of those that can be true."""
        possible = []
        for arm in self.arms:
            tried = state.copy()
            try:
                arm.apply(tried)
            except ContradictionError:
                continue
            possible.append(tried)
        if not possible:
            raise ContradictionError
        joined(possible, state, self.columns)


def constraint_of(condition: exp.Expr, zone: str, not_null: frozenset[Key]) -> Constraint | None:
    """Return the constraint that holds where a condition is TRUE; None if it is opaque.

    ``not_null`` are columns that are known not to be NULL: ``<=>`` is ``=`` beside one of them.
    """
    if size(condition) > LARGEST or timing.contains_now(condition):
        return None
    return _read(condition, zone, not_null)


def _read(condition: exp.Expr, zone: str, not_null: frozenset[Key]) -> Constraint | None:
    node = condition.unnest()
    if isinstance(node, exp.And):
        parts = [_read(one, zone, not_null) for one in node.flatten()]
        known = tuple(one for one in parts if one is not None)
        return Together(known) if known else None
    if isinstance(node, exp.Or):
        arms = [_read(one, zone, not_null) for one in node.flatten()]
        known = tuple(one for one in arms if one is not None)
        return Either(known) if len(known) == len(arms) <= ARMS else None
    if isinstance(node, exp.Between):
        return _between(node, zone)
    if isinstance(node, exp.In):
        return _one_of(node, zone)
    if isinstance(node, exp.Not):
        inner = node.this.unnest()
        operator = _NEGATED.get(type(inner), "")
        return _comparison(inner, operator, zone) if operator else None
    if isinstance(node, exp.NullSafeEQ):
        return _comparison(node, "=", zone) if _one_is_there(node, zone, not_null) else None
    return _comparison(node, COMPARISONS.get(type(node), ""), zone)


def _comparison(node: exp.Expr, operator: str, zone: str) -> Constraint | None:
    return _compared(node.this, operator, node.expression, zone) if operator else None


def _compared(left: exp.Expr, operator: str, right: exp.Expr, zone: str) -> Constraint | None:
    one, other = sides(left, right, zone)
    if one is None or other is None:
        return None
    pair = compared(one, other)
    if pair is None:
        return None
    if operator in _MIRRORED:
        return Compared(pair[1], _MIRRORED[operator], pair[0])
    return Compared(pair[0], operator, pair[1])


def sides(left: exp.Expr, right: exp.Expr, zone: str) -> tuple[Term | None, Term | None]:
    """Two sides of a comparison as terms; a text beside a date or an instant is read as one."""
    one, other = term_of(left, zone), term_of(right, zone)
    if one is None and other is not None:
        one = _text_beside(left, other, zone)
    elif other is None and one is not None:
        other = _text_beside(right, one, zone)
    return _midnight(one, other, zone), _midnight(other, one, zone)


def _midnight(one: Term | None, other: Term | None, zone: str) -> Term | None:
    """Return a literal day, compared with an instant, as its midnight in the session's zone."""
    if one is None or other is None or one.operator != "constant":
        return one
    if (one.kind, other.kind) != (DATE, TIMESTAMP):
        return one
    try:
        day = EPOCH + timedelta(days=int(one.value))
    except OverflowError:
        return None
    begin = read_text(day.isoformat(), TIMESTAMP, zone)
    return None if begin is None else Term(TIMESTAMP, "constant", value=begin.value)


def _text_beside(node: exp.Expr, other: Term, zone: str) -> Term | None:
    text = node.unnest()
    if not (isinstance(text, exp.Literal) and text.is_string):
        return None
    if other.kind.family not in ("date", "timestamp"):
        return None
    kind = "date" if other.kind.family == "date" else "timestamptz"
    return term_of(exp.cast(text.copy(), kind), zone)


def _between(node: exp.Between, zone: str) -> Constraint | None:
    if node.args.get("symmetric"):
        return None
    parts = [
        _compared(node.this, ">=", node.args["low"], zone),
        _compared(node.this, "<=", node.args["high"], zone),
    ]
    known = tuple(one for one in parts if one is not None)
    return Together(known) if known else None


def _one_of(node: exp.In, zone: str) -> Constraint | None:
    """Return IN as a constraint if all constants are of the left side's kind, in any digits."""
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        return None
    left = term_of(node.this, zone)
    if left is None or not left.columns():
        return None
    values: list[Range] = []
    kind: ValueKind | None = left.kind
    for one in node.expressions:
        if isinstance(one, exp.Null):
            continue
        found = sides(node.this, one, zone)[1]
        if found is None or found.operator != "constant":
            return None
        # All are cast to one kind, by their types alone: no DOUBLE beside exact numbers, no cut.
        kind = kind and wider(kind, found.kind)
        if kind is None or (kind == DOUBLE) != (left.kind == DOUBLE):
            return None
        value = cast_to(kind, found).value
        values.append(Range(value, value))
    span = hull(values)
    if span is None:
        return None
    return OneOf(left, tuple(values) if len(values) <= ARMS else (span,))


def _one_is_there(node: exp.NullSafeEQ, zone: str, not_null: frozenset[Key]) -> bool:
    return any(_there(side, zone, not_null) for side in (node.this, node.expression))


def _there(side: exp.Expr, zone: str, not_null: frozenset[Key]) -> bool:
    bare = side.unnest()
    if isinstance(bare, exp.Column):
        return (bare.table, bare.name) in not_null
    if isinstance(bare, exp.Literal):
        return True
    term = term_of(bare, zone)
    return term is not None and term.operator == "constant"


def columns_in(condition: exp.Expr) -> Iterator[Key]:
    """Yield the columns that cannot be NULL where a condition is TRUE, as far as its form tells."""
    node = condition.unnest()
    if type(node) in COMPARISONS or isinstance(node, exp.NEQ):
        for side in (node.this.unnest(), node.expression.unnest()):
            if isinstance(side, exp.Column):
                yield side.table, side.name
    elif isinstance(node, exp.Between | exp.In) and isinstance(node.this.unnest(), exp.Column):
        column = node.this.unnest()
        yield column.table, column.name
