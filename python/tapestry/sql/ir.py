"""The standard form of semantics, section 2, as frozen dataclasses.

A query is a union of *arms*; an arm is a select list over tables, filtered by a formula; that
becomes *disjuncts* (``Conjunction``), each ``P and (lower bounds <= s) and (s < upper bounds) and
[not] exists ...``.  Every row of every relation so has a validity, a finite set of intervals
``[start, end)``: a join intersects, OR unites, NOT EXISTS subtracts.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """What else that ON demands, of time: bounds, once ``stage_joins`` has left it there."""
    inferred: tuple[Inferred, ...] = field(default=(), compare=False)
    """Of a look-up: what its ON implies of its rows, beside the conditions of every disjunct."""


@dataclass(frozen=True)
class DerivedTable:
    """A derived table that counts by value (DISTINCT, UNION, ...): arms of all its values.

    That a value is there at an instant is said by a membership formula beside it.
    """

    alias: str
    columns: tuple[str, ...]
    arms: tuple[Arm, ...] = field(compare=False)
    weight: int = field(default=1, compare=False)
    """How many arms stand in it, those of tables and subqueries in them too."""


@dataclass(frozen=True)
class ValueTable:
    """The same in standard form: blocks of all the values that it may ever hold.

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
    """That a comparison with now() is ``wanted``: 'true', 'false' or 'unknown'; not solved yet."""

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
    """What identifies a derivation, a text each relation (``tapestry.sql.facts.keys``)."""


@dataclass(frozen=True)
class Inferred:
    """A condition on one table that others imply, those in ``because``.

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
    """What follows from ``conditions``, and from those around it where it is a subquery."""

    @property
    def filters(self) -> tuple[exp.Expr, ...]:
        """The conditions, and those that they imply: what rows may be read by."""
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
    """Arms beside each other; an answer counts in its arm by the identity of that arm."""

    inputs: tuple[Bag | SetQuery, ...]


@dataclass(frozen=True)
class Change:
    """An instant at which a comparison with now() changes, for each row of ``tables`` together.

    ``bound`` is that instant; only rows for which ``conditions`` hold matter. ``uses`` are the
    aliases of those uses in the query whose copies ``tables`` are.
    """

    tables: tuple[SourceTable, ...]
    bound: exp.Expr
    conditions: tuple[exp.Expr, ...] = ()
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    """A running value of a group, by the rows that hold; ``place``: of its argument in their list.

    ``rows`` counts them, ``values`` those whose argument is not NULL; ``sum``, ``least`` and
    ``greatest`` are of the arguments, ``distinct`` and ``distinct_sum`` of each of those once.
    """

    kind: str
    place: int = -1


@dataclass(frozen=True)
class Sums:
    """How the groups of an arm follow from running states (aggregates, section 5).

    keys
        So many columns of the select list of the arm's blocks are what it groups by; arguments of
        its aggregates stand behind them.
    states
        What is kept of a group; the first one counts its rows.
    items, having
        The arm's own, over columns ``_k1`` … and ``_s1`` …
    """

    keys: int
    states: tuple[State, ...]
    items: tuple[exp.Expr, ...]
    having: exp.Expr | None = None
    rows: tuple[Arm, ...] = field(default=(), compare=False)
    """Before the standard form, what the part has as its arms."""


@dataclass(frozen=True)
class Firsts:
    """How an arm follows from the first rows of each key (aggregates, section 11, point 5).

    keys
        So many columns of the select list of the arm's blocks are the key; what orders the rows
        of a key stands behind them, then what else is listed.
    order
        Over columns ``_a1`` …, which are all that is kept of a row besides its key.
    count, dense
        Rows at so many first places are answers; ``dense``: rows that are equal take one place.
    items, where
        The arm's own, over columns ``_k1`` … and ``_a1`` …
    """

    keys: int
    order: tuple[exp.Ordered, ...]
    count: int
    dense: bool
    items: tuple[exp.Expr, ...]
    where: exp.Expr | None = None
    rows: tuple[Arm, ...] = field(default=(), compare=False)
    """Before the standard form, what the part has as its arms."""


@dataclass(frozen=True)
class Lifted:
    """An arm that is evaluated at each instant at which something in it changes (strategy 5).

    tree
        The query: CTEs written out, every alias of a relation unique.
    tables
        Its uses of sources, by alias. ``copies`` are those that ``changes`` read besides.
    by_rows, by_values
        What identifies an answer: the rows of FROM, its values, or both (aggregates, section 1).
    keys
        By the alias of each use that they cover, the values by which the rows of the query fall
        apart (aggregates, section 2); empty where they do not.
    """

    tree: exp.Query = field(compare=False)
    tables: tuple[SourceTable, ...]
    by_rows: bool
    by_values: bool
    changes: tuple[Change, ...] = field(default=(), compare=False)
    arm: int = 1
    audit: tuple[int, ...] = ()
    """Places of the select list that read the clock: they are no part of an answer."""
    keys: Mapping[str, tuple[exp.Expr, ...]] = field(default_factory=dict, compare=False)
    opens: tuple[exp.Expr, ...] = field(default=(), compare=False)
    """Instants before which no answer of a key holds, over columns that are named by places of the
    key, from 1: what the outermost conditions demand of now()."""
    sums: Sums | Firsts | None = None
    """Where running states, or first rows, give its answers: no instant is evaluated, then."""

    @property
    def all_tables(self) -> tuple[SourceTable, ...]:
        """The uses of sources, those of ``changes`` too."""
        copies = [table for change in self.changes for table in change.tables]
        return (*self.tables, *copies)


@dataclass(frozen=True)
class Part:
    """One arm of the outermost UNION ALL, and whether its answers count by value.

    It has arms until they are brought to standard form, and blocks from then on; one that is
    evaluated at instants has neither, but ``lifted``. Beside ``Lifted.sums`` they are the rows
    that are kept, or whose states are.
    """

    by_value: bool
    arms: tuple[Arm, ...] = ()
    blocks: tuple[Block, ...] = ()
    audit: Mapping[int, exp.Expr] = field(default_factory=dict)
    """Where answers count by value: the audit columns, which are no part of it, by their places in
    the select list, over columns that name places (``tapestry.sql.read.audit_columns``)."""
    lifted: Lifted | None = None


def all_of(*parts: Formula) -> Formula:
    """The conjunction, flattened; false as soon as one part is false."""
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, And) else (part,))
    if any(part == FALSE for part in flat):
        return FALSE
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(*parts: Formula) -> Formula:
    """The disjunction, flattened; true as soon as one part is true."""
    flat: list[Formula] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    if any(part == TRUE for part in flat):
        return TRUE
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def weight_of(formula: Formula, known: dict[int, int]) -> int:
    """How many parts a formula has, each counted wherever it stands: passes go over them so.

    ``known``, by the identity of formulas that are kept, saves to count a part twice.
    """
    if not isinstance(formula, And | Or):
        return 1
    if id(formula) not in known:
        known[id(formula)] = 1 + sum(weight_of(part, known) for part in formula.parts)
    return known[id(formula)]
