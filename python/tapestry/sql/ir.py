"""The standard form of semantics, section 2, as frozen dataclasses.

A query is a union of *arms*; an arm is a select list over tables, filtered by a formula; that
becomes *disjuncts* (``Conjunction``), each ``P and (lower bounds <= s) and (s < upper bounds) and
[not] exists ...``.  Every row of every relation so has a validity, a finite set of intervals
``[start, end)``: a join intersects, OR unites, NOT EXISTS subtracts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

ATOM = "time atom"
"""Key under which the tree of a bound keeps the comparison with now() that it was solved from."""


@dataclass(frozen=True)
class SourceTable:
    """One use of a source: ``alias`` is unique in the whole query, ``written`` is the author's."""

    alias: str
    source: str
    written: str
    appended: bool
    """True for an append-only source, whose rows have a lower bound: their arrival."""
    ends: bool = False
    """True where its rows have an upper bound too: ``_ended``."""
    place: tuple[int, ...] = ()
    """The SELECTs of the query that it stands in, by number, the outermost first."""
    on: tuple[exp.Expr, ...] | None = None
    """A *look-up*: behind a LEFT JOIN on these conditions (``tapestry.sql.normalize.look_ups``)."""
    within: tuple[Formula, ...] = ()
    """The other conditions of that ON, on time: bounds, once ``stage_joins`` has left it there."""
    inferred: tuple[Inferred, ...] = field(default=(), compare=False)
    """Conditions on a look-up's rows, implied by its ON and by what all disjuncts demand."""


@dataclass(frozen=True)
class DerivedTable:
    """A derived table that counts by value (DISTINCT, UNION, ...), as arms of all its values.

    That a value is there at an instant is said by a membership formula beside it.
    """

    alias: str
    columns: tuple[str, ...]
    arms: tuple[Arm, ...] = field(compare=False)
    weight: int = field(default=1, compare=False)
    """The number of arms in it, including those of tables and subqueries in them."""


@dataclass(frozen=True)
class ValueTable:
    """A derived table that counts by value, in standard form: blocks of all its possible values.

    ``alias`` is unique in the whole query: two tables that have it are one, and comparing what
    they hold would take longer with every level of a nest of them.
    """

    alias: str
    columns: tuple[str, ...]
    universe: tuple[Block, ...] = field(compare=False)


ArmTable: TypeAlias = SourceTable | DerivedTable
Table: TypeAlias = SourceTable | ValueTable


@dataclass(frozen=True)
class And:
    """True iff all parts are; ``And(())`` is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Or:
    """True iff some part is; ``Or(())`` is false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Condition:
    """A condition free of time and subqueries: opaque to the theory."""

    sql: exp.Expr


@dataclass(frozen=True)
class TimeAtom:
    """A comparison with now(), not solved yet, that is ``wanted``: 'true', 'false' or 'unknown'."""

    sql: exp.Expr
    wanted: str


@dataclass(frozen=True)
class Lower:
    """``bound <= s``; never true where the bound is NULL."""

    bound: exp.Expr


@dataclass(frozen=True)
class Upper:
    """``s < bound``; never true where the bound is NULL."""

    bound: exp.Expr


@dataclass(frozen=True)
class ExistsFormula:
    """``[NOT] EXISTS`` over the union of the arms, whose tables no formula around it knows."""

    negated: bool
    arms: tuple[Arm, ...]


Formula: TypeAlias = And | Or | Condition | TimeAtom | Lower | Upper | ExistsFormula

TRUE = And(())
FALSE = Or(())


@dataclass(frozen=True)
class Arm:
    """``SELECT select FROM tables WHERE where``: one kind of derivation.

    Tables are multiplied with each other, and look-ups joined, in their order.
    """

    tables: tuple[ArmTable, ...]
    where: Formula
    select: tuple[exp.Expr, ...]
    keys: tuple[exp.Expr, ...] = ()
    """The identity of a derivation: one text for each relation (``tapestry.sql.facts.keys``)."""


@dataclass(frozen=True)
class Inferred:
    """A condition on one table that other conditions imply, those in ``because``.

    No part of a query: with it or without, the same rows are found, of which fewer are read.
    """

    condition: exp.Expr
    because: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Exists:
    """``[NOT] EXISTS`` of one conjunction: the leaf of a standard form."""

    negated: bool
    inner: Conjunction


@dataclass(frozen=True)
class Conjunction:
    """One disjunct: true on ``[max(lowers), min(uppers))`` less what ``exists`` say."""

    tables: tuple[Table, ...]
    conditions: tuple[exp.Expr, ...]
    lowers: tuple[exp.Expr, ...]
    uppers: tuple[exp.Expr, ...]
    exists: tuple[Exists, ...]
    inferred: tuple[Inferred, ...] = field(default=(), compare=False)
    """Conditions implied by ``conditions`` and, in a subquery, by those around it."""

    @property
    def filters(self) -> tuple[exp.Expr, ...]:
        """The conditions and those that they imply, by which rows may be read."""
        return (*self.conditions, *(one.condition for one in self.inferred))


@dataclass(frozen=True)
class Block:
    """An arm in standard form: derivations over ``tables``, valid where some disjunct is."""

    tables: tuple[Table, ...]
    select: tuple[exp.Expr, ...]
    disjuncts: tuple[Conjunction, ...]
    keys: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Bag:
    """Answers that count by derivation."""

    arms: tuple[Arm, ...]


@dataclass(frozen=True)
class SetQuery:
    """Answers that count by value: ``operator`` is distinct, union, intersect or except."""

    operator: str
    inputs: tuple[Bag | SetQuery, ...]


@dataclass(frozen=True)
class UnionAll:
    """The arms of a UNION ALL; an answer counts in its arm by the identity of that arm."""

    inputs: tuple[Bag | SetQuery, ...]


def all_of(*parts: Formula) -> Formula:
    """Return the conjunction, flattened; false as soon as one part is false."""
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, And) else (part,))
    if any(part == FALSE for part in flat):
        return FALSE
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(*parts: Formula) -> Formula:
    """Return the disjunction, flattened; true as soon as one part is true."""
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    if any(part == TRUE for part in flat):
        return TRUE
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def weight_of(formula: Formula, known: dict[int, int]) -> int:
    """Return the number of a formula's parts, counted wherever they occur, as passes visit them.

    ``known``, by the identity of formulas that are kept, saves to count a part twice.
    """
    if not isinstance(formula, And | Or):
        return 1
    if id(formula) not in known:
        known[id(formula)] = 1 + sum(weight_of(part, known) for part in formula.parts)
    return known[id(formula)]
