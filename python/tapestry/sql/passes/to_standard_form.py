"""An arm's formula as a disjunction of conjunctions: semantics, section 2, "Standard form".

Only time bounds and subqueries are distributed; a condition free of both stays one opaque piece.
Sound because a WHERE keeps a row iff its condition is true, and in three-valued logic OR is true
iff some part is, AND iff all parts are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.ir import (
    And,
    Arm,
    Block,
    Condition,
    Conjunction,
    Exists,
    ExistsFormula,
    Formula,
    Lower,
    Or,
    SourceTable,
    Table,
    Upper,
)

LIMIT = 64


@dataclass(frozen=True)
class _Terms:
    """A conjunction in the making."""

    conditions: tuple[exp.Expr, ...] = ()
    lowers: tuple[exp.Expr, ...] = ()
    uppers: tuple[exp.Expr, ...] = ()
    exists: tuple[Exists, ...] = ()

    def merged(self, other: _Terms) -> _Terms:
        return _Terms(
            _distinct(self.conditions + other.conditions),
            _distinct(self.lowers + other.lowers),
            _distinct(self.uppers + other.uppers),
            tuple(dict.fromkeys(self.exists + other.exists)),
        )

    def implied_by(self, other: _Terms) -> bool:
        """Has the other conjunction all terms of this one (and so adds nothing beside it)?"""
        return (
            set(self.conditions) <= set(other.conditions)
            and set(self.lowers) <= set(other.lowers)
            and set(self.uppers) <= set(other.uppers)
            and set(self.exists) <= set(other.exists)
        )


def to_standard_form(arm: Arm, extra: tuple[exp.Expr, ...] = ()) -> Block:
    """The arm as a block; every append-only table adds its arrival as a lower bound.

    One whose rows end adds the end as an upper bound.

    ``extra`` are further lower bounds of every disjunct (the model's begin, the begin of time).
    Raises Refusal where there would be more than 64 disjuncts.
    """
    disjuncts = []
    for terms in _expand(arm.where):
        conjunction = _conjunction(arm.tables, terms)
        lowers = _distinct(conjunction.lowers + extra)
        disjuncts.append(replace(conjunction, lowers=lowers))
    return Block(arm.tables, arm.select, tuple(disjuncts), arm.keys)


def arrivals(tables: tuple[Table, ...]) -> tuple[exp.Expr, ...]:
    """The arrival of each append-only table, as lower bounds."""
    return tuple(
        arrival_of(table) for table in tables if isinstance(table, SourceTable) and table.appended
    )


def arrival_of(table: SourceTable) -> exp.Expr:
    """``alias._arrival``, typed."""
    return _instant(ARRIVAL, table)


def _ends(tables: tuple[Table, ...]) -> tuple[exp.Expr, ...]:
    return tuple(
        _instant(ENDED, table) for table in tables if isinstance(table, SourceTable) and table.ends
    )


def _instant(name: str, table: SourceTable) -> exp.Expr:
    column = exp.column(name, table=table.alias)
    column.type = exp.DataType.build("timestamptz")
    return column


def _conjunction(tables: tuple[Table, ...], terms: _Terms) -> Conjunction:
    lowers = _distinct(arrivals(tables) + terms.lowers)
    uppers = _distinct(terms.uppers + _ends(tables))
    return Conjunction(tables, terms.conditions, lowers, uppers, terms.exists)


def _expand(formula: Formula) -> list[_Terms]:
    if isinstance(formula, Condition):
        return [_Terms(conditions=(formula.sql,))]
    if isinstance(formula, Lower):
        return [_Terms(lowers=(formula.bound,))]
    if isinstance(formula, Upper):
        return [_Terms(uppers=(formula.bound,))]
    if isinstance(formula, ExistsFormula):
        return _expand_exists(formula)
    if isinstance(formula, Or):
        return _bounded(_absorbed([terms for part in formula.parts for terms in _expand(part)]))
    assert isinstance(formula, And)
    product = [_Terms()]
    for part in formula.parts:
        factors = _expand(part)
        _bounded_count(len(product) * len(factors))
        product = _bounded(_absorbed([a.merged(b) for a in product for b in factors]))
    return product


def _expand_exists(formula: ExistsFormula) -> list[_Terms]:
    """EXISTS over a union is an OR of EXISTS; NOT EXISTS over a union is an AND of NOT EXISTS."""
    inner = [
        _flattened(_conjunction(arm.tables, terms))
        for arm in formula.arms
        for terms in _expand(arm.where)
    ]
    if not formula.negated:
        return _bounded([_Terms(exists=(Exists(False, conjunction),)) for conjunction in inner])
    _bounded_count(len(inner))
    return [_Terms(exists=tuple(Exists(True, conjunction) for conjunction in inner))]


def _flattened(conjunction: Conjunction) -> Conjunction:
    """Inside an EXISTS, EXISTS(r and EXISTS(u)) is EXISTS(r, u): a positive level is a join."""
    tables, kept = conjunction.tables, []
    merged = _Terms(conjunction.conditions, conjunction.lowers, conjunction.uppers)
    for exists in conjunction.exists:
        if exists.negated:
            kept.append(exists)
            continue
        inner = exists.inner
        tables += inner.tables
        merged = merged.merged(_Terms(inner.conditions, inner.lowers, inner.uppers))
        kept += inner.exists
    return Conjunction(tables, merged.conditions, merged.lowers, merged.uppers, tuple(kept))


def _absorbed(terms: list[_Terms]) -> list[_Terms]:
    """``A or (A and B)`` is ``A``: drop what another disjunct covers."""
    if len(terms) > 4 * LIMIT:
        return terms
    kept: list[_Terms] = []
    for candidate in terms:
        if any(other.implied_by(candidate) for other in kept):
            continue
        kept = [other for other in kept if not candidate.implied_by(other)]
        kept.append(candidate)
    return kept


def _bounded(terms: list[_Terms]) -> list[_Terms]:
    _bounded_count(len(terms), LIMIT)
    return terms


def _bounded_count(count: int, limit: int = 4 * LIMIT) -> None:
    if count > limit:
        raise Refusal(
            f"the conditions on time and subqueries make more than {LIMIT} alternatives",
            hint="write them as a UNION ALL of models, or move ORs that do not depend on now() out",
        )


def _distinct(nodes: tuple[exp.Expr, ...]) -> tuple[exp.Expr, ...]:
    return tuple(dict.fromkeys(nodes))
