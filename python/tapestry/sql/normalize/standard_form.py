"""An arm's formula as a disjunction of conjunctions: semantics, section 2, "Standard form".

Only time bounds and subqueries are distributed; a condition free of both stays one opaque piece.
Sound because a WHERE keeps a row iff its condition is true, and in three-valued logic OR is true
iff some part is, AND iff all parts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.arrivals import arrivals, ends
from tapestry.sql.ir import (
    And,
    Arm,
    ArmTable,
    Block,
    Condition,
    Conjunction,
    DerivedTable,
    Exists,
    ExistsFormula,
    Formula,
    Lower,
    Or,
    Table,
    Upper,
    ValueTable,
)
from tapestry.sql.work import spend

LIMIT = 64


Term: TypeAlias = Condition | Lower | Upper | Exists


@dataclass(frozen=True)
class _Terms:
    """A conjunction under construction: its terms by number, in their order."""

    numbers: tuple[int, ...] = ()

    @cached_property
    def all(self) -> frozenset[int]:
        """The terms without their order."""
        return frozenset(self.numbers)

    def merged(self, other: _Terms) -> _Terms:
        more = tuple(number for number in other.numbers if number not in self.all)
        return _Terms(self.numbers + more)

    def implied_by(self, other: _Terms) -> bool:
        """Return whether the other conjunction has all terms, and so adds nothing to this one."""
        return self.all <= other.all


class StandardForms:
    """Brings arms to standard form; each table by value of the query is formed once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[DerivedTable, ValueTable]] = {}
        """By the identity of a table, which is kept so that this stays its own."""

    def of(self, arm: Arm) -> Block:
        """The arm as a block; every append-only table adds its arrival as a lower bound.

        One whose rows end adds the end as an upper bound.

        Raises Refusal where there would be more than 64 disjuncts.
        """
        expansion = _Expansion(self)
        tables = self.tables(arm.tables)
        disjuncts = [expansion.conjunction(tables, terms) for terms in expansion.of(arm.where)]
        return Block(tables, arm.select, tuple(disjuncts), arm.keys)

    def tables(self, tables: tuple[ArmTable, ...]) -> tuple[Table, ...]:
        """Tables with those by value in standard form: of all their values."""
        return tuple(
            self.table(table) if isinstance(table, DerivedTable) else table for table in tables
        )

    def table(self, table: DerivedTable) -> ValueTable:
        """One table by value in standard form."""
        if id(table) not in self.known:
            universe = tuple(self.of(arm) for arm in table.arms)
            self.known[id(table)] = table, ValueTable(table.alias, table.columns, universe)
        return self.known[id(table)][1]


class _Expansion:
    """One arm's formula distributed: equal terms have one number, and each part is done once."""

    def __init__(self, forms: StandardForms) -> None:
        self.forms = forms
        self.numbers: dict[Term, int] = {}
        self.terms: list[Term] = []
        self.done: dict[int, tuple[Formula, list[_Terms]]] = {}
        """By the identity of a formula, which is kept so that this stays its own."""

    def of(self, formula: Formula) -> list[_Terms]:
        """Return the conjunctions whose disjunction is the formula."""
        if id(formula) not in self.done:
            spend(1, "terms of alternatives")
            self.done[id(formula)] = (formula, self.made(formula))
        return self.done[id(formula)][1]

    def made(self, formula: Formula) -> list[_Terms]:
        """Return the conjunctions of a formula, not cached."""
        if isinstance(formula, Condition | Lower | Upper):
            return [self.single(formula)]
        if isinstance(formula, ExistsFormula):
            return self.of_exists(formula)
        if isinstance(formula, Or):
            return _bounded(_absorbed([terms for part in formula.parts for terms in self.of(part)]))
        assert isinstance(formula, And)
        return self.product([self.of(part) for part in formula.parts])

    def product(self, factors: list[list[_Terms]]) -> list[_Terms]:
        """One conjunction for each choice of an alternative from every factor.

        None where a factor has no alternative: it is never true.
        """
        if not all(factors):
            return []
        alone = dict.fromkeys(n for one in factors if len(one) == 1 for n in one[0].numbers)
        product = [_Terms(tuple(alone))]
        for factor in factors:
            if len(factor) == 1:
                continue
            _bounded_count(len(product) * len(factor))
            pairs = len(product) * len(factor)
            spend(pairs + pairs * len(product[0].numbers) // 50, "terms of alternatives")
            product = _bounded(_absorbed([a.merged(b) for a in product for b in factor]))
        return product

    def single(self, term: Term) -> _Terms:
        """Return one term as a conjunction, under its number in this expansion."""
        number = self.numbers.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return _Terms((number,))

    def of_exists(self, formula: ExistsFormula) -> list[_Terms]:
        """EXISTS over a union is an OR of EXISTS; NOT EXISTS over one an AND of NOT EXISTS."""
        inner = [
            _flattened(self.conjunction(self.forms.tables(arm.tables), terms))
            for arm in formula.arms
            for terms in self.of(arm.where)
        ]
        singles = [self.single(Exists(formula.negated, conjunction)) for conjunction in inner]
        if not formula.negated:
            return _bounded(singles)
        _bounded_count(len(inner))
        return [_Terms(tuple(dict.fromkeys(n for one in singles for n in one.numbers)))]

    def conjunction(self, tables: tuple[Table, ...], terms: _Terms) -> Conjunction:
        """The terms over these tables, with what their rows' arrivals and ends add."""
        spend(1 + len(terms.numbers) // 4 + len(tables), "terms of alternatives")
        found = [self.terms[number] for number in terms.numbers]
        lowers = tuple(one.bound for one in found if isinstance(one, Lower))
        uppers = tuple(one.bound for one in found if isinstance(one, Upper))
        return Conjunction(
            tables,
            tuple(one.sql for one in found if isinstance(one, Condition)),
            _distinct(arrivals(tables) + lowers),
            _distinct(uppers + ends(tables)),
            tuple(one for one in found if isinstance(one, Exists)),
        )


def _flattened(conjunction: Conjunction) -> Conjunction:
    """Merge EXISTS(r and EXISTS(u)) inside an EXISTS into EXISTS(r, u): it is a join."""
    tables, kept = conjunction.tables, list[Exists]()
    conditions, lowers, uppers = conjunction.conditions, conjunction.lowers, conjunction.uppers
    for exists in conjunction.exists:
        if exists.negated:
            kept.append(exists)
            continue
        inner = exists.inner
        tables += inner.tables
        conditions += inner.conditions
        lowers += inner.lowers
        uppers += inner.uppers
        kept += inner.exists
    bounds = _distinct(conditions), _distinct(lowers), _distinct(uppers)
    return Conjunction(tables, *bounds, tuple(kept))


def _absorbed(terms: list[_Terms]) -> list[_Terms]:
    """``A or (A and B)`` is ``A``: drop what another disjunct covers."""
    if len(terms) > 4 * LIMIT:
        return terms
    spend(len(terms) ** 2 // 20, "terms of alternatives")
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
            code="too-many-alternatives",
        )


def _distinct(nodes: tuple[exp.Expr, ...]) -> tuple[exp.Expr, ...]:
    return tuple(dict.fromkeys(nodes))
