"""Reads expressions as terms whose ranges are tracked, typed as in Spark; others are opaque."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.facts.common_types import type_of
from tapestry.sql.facts.expressions import whole as whole_number
from tapestry.sql.facts.fixed_lengths import DAY, is_in_days, length_of, zone_is_fixed
from tapestry.sql.facts.month_steps import months_in
from tapestry.sql.infer.constants import constant_of
from tapestry.sql.infer.kinds import (
    DATE,
    DOUBLE,
    INT,
    TIMESTAMP,
    Number,
    ValueKind,
    holds,
    nearest_double,
    result_of,
    value_kind,
    wider,
)

Key = tuple[str, str]
"""A column: alias and name."""
ZONE_SLACK = 26 * 3_600_000_000
"""By how many microseconds a whole day may be off in a zone with transitions, at most."""
_OPERATORS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_MOST_MONTHS = 12 * 1_000


@dataclass(frozen=True, eq=False)
class Term:
    """An expression of a kind: a column, a constant, or an operation on terms.

    operator
        ``column``, ``constant``, or one of ``tapestry.sql.infer.forward``.
    slack
        By how much an instant may be off; of ``months``, how many there are.
    literal
        It is a bare number: beside a DECIMAL, one with its own digits.
    """

    kind: ValueKind
    operator: str
    args: tuple[Term, ...] = ()
    key: Key = ("", "")
    value: Number = 0
    slack: int = 0
    literal: bool = False

    def columns(self) -> frozenset[Key]:
        """The columns of the term."""
        if self.operator == "column":
            return frozenset((self.key,))
        return frozenset(key for one in self.args for key in one.columns())


def term_of(node: exp.Expr, zone: str) -> Term | None:
    """Return the expression as a term; None if it is opaque.

    >>> from sqlglot import parse_one
    >>> term_of(parse_one("1 + 2.5", dialect="spark"), "UTC").kind
    ValueKind(family='decimal', bits=0, precision=3, scale=1)
    """
    node = node.unnest()
    found = constant_of(node, zone)
    if found is not None:
        return Term(found.kind, "constant", value=found.value, literal=found.literal)
    if isinstance(node, exp.Column):
        kind = value_kind(type_of(node)) if node.table else None
        return None if kind is None else Term(kind, "column", key=(node.table, node.name))
    if isinstance(node, exp.Neg):
        inner = term_of(node.this, zone)
        if inner is None or inner.kind.family in ("date", "timestamp"):
            return None
        return Term(inner.kind, "neg", (inner,))
    if isinstance(node, exp.Cast) and type(node) is exp.Cast:
        inner, kind = term_of(node.this, zone), value_kind(type_of(node))
        return None if inner is None or kind is None else _cast_by_author(inner, kind)
    if isinstance(node, exp.TsOrDsAdd | exp.AddMonths):
        return _call(node, zone)
    operator = _OPERATORS.get(type(node))
    return None if operator is None else _operation(operator, node, zone)


def cast_to(kind: ValueKind, inner: Term) -> Term:
    """Return the term as Spark casts it to compute in a wider kind."""
    if inner.kind == kind:
        return inner
    if inner.operator == "constant":
        value = nearest_double(inner.value) if kind == DOUBLE else inner.value
        return Term(kind, "constant", value=value)
    return Term(kind, "cast", (inner,))


def compared(one: Term, other: Term) -> tuple[Term, Term] | None:
    """Return both sides of a comparison in the kind in which Spark compares; None: not certain."""
    kind = wider(beside(one, other.kind), beside(other, one.kind))
    return None if kind is None else (cast_to(kind, one), cast_to(kind, other))


def beside(one: Term, other: ValueKind) -> ValueKind:
    """Return the kind of a term beside one of another kind: a bare number has its own digits."""
    if one.literal and one.kind.family == "integer" and other.family == "decimal":
        return ValueKind("decimal", precision=len(str(abs(int(one.value)))))
    return one.kind


def _cast_by_author(inner: Term, kind: ValueKind) -> Term | None:
    """Return a cast by the author as a term: to a wider kind, or from one DECIMAL to another."""
    known = holds(kind, inner.kind) or (
        kind in (DOUBLE, *([kind] if kind.family == "decimal" else []))
        and inner.kind.family in ("integer", "decimal")
    )
    return Term(kind, "cast", (inner,)) if known else None


def _operation(operator: str, node: exp.Expr, zone: str) -> Term | None:
    left, right = node.this, node.expression
    moved = _moved(operator, left, right, zone)
    if moved is not None or (operator == "+" and (moved := _moved("+", right, left, zone))):
        return moved
    one, other = term_of(left, zone), term_of(right, zone)
    if one is None or other is None:
        return None
    if operator == "/" and (other.operator != "constant" or other.value == 0):
        return None
    if _unsure(one, other) or _unsure(other, one):
        return None
    kind = result_of(operator, beside(one, other.kind), beside(other, one.kind))
    if kind is None:
        return None
    args = (one, other)
    if kind.family != "decimal":
        args = (cast_to(kind, one), cast_to(kind, other))
    return Term(kind, operator, args)


def _unsure(one: Term, other: Term) -> bool:
    """Return whether a term is a number with a suffix (``5L``), which may be spelled otherwise."""
    bare = one.operator == "constant" and not one.literal and one.kind.family == "integer"
    return bare and other.kind.family == "decimal"


def _moved(operator: str, base: exp.Expr, by: exp.Expr, zone: str) -> Term | None:
    """Return a date plus days, or an instant plus an interval, as a term; None for all else."""
    if operator not in ("+", "-"):
        return None
    moved = by.unnest()
    if isinstance(moved, exp.Interval):
        return _moved_by_interval(operator, base, moved, zone)
    inner = term_of(base, zone)
    if inner is None or inner.kind != DATE:
        return None
    return _days(operator, inner, term_of(by, zone))


def _days(operator: str, inner: Term, days: Term | None) -> Term | None:
    if days is None or days.kind.family != "integer" or days.kind.bits > INT.bits:
        return None
    return Term(DATE, operator, (inner, days))


def _moved_by_interval(
    operator: str, base: exp.Expr, interval: exp.Interval, zone: str
) -> Term | None:
    inner, micros = term_of(base, zone), length_of(interval)
    if inner is None or inner.kind not in (DATE, TIMESTAMP):
        return None
    if micros is None:
        months = whole_number(months_in(interval) or exp.null())
        return None if months is None else _months(inner, -months if operator == "-" else months)
    if inner.kind == DATE:
        if micros % DAY or not is_in_days(interval):
            return None
        return Term(DATE, operator, (inner, Term(INT, "constant", value=micros // DAY)))
    fixed = abs(micros) < DAY or zone_is_fixed(zone)
    length = Term(TIMESTAMP, "constant", value=micros)
    return Term(TIMESTAMP, operator, (inner, length), slack=0 if fixed else ZONE_SLACK)


def _months(inner: Term, count: int) -> Term | None:
    if abs(count) > _MOST_MONTHS:
        return None
    return Term(inner.kind, "months", (inner,), slack=count)


def _call(node: exp.Expr, zone: str) -> Term | None:
    """Return ``date_add``, ``date_sub`` or ``add_months`` of a DATE as a term."""
    inner = term_of(node.this, zone)
    if inner is None or inner.kind != DATE:
        return None
    if isinstance(node, exp.AddMonths):
        count = whole_number(node.expression)
        return None if count is None else _months(inner, count)
    if node.text("unit").upper() not in ("", "DAY"):
        return None
    return _days("+", inner, term_of(node.expression, zone))
