"""The outer arms, those of the outermost UNION ALL, each of one of five kinds.

    ByDerivation     an answer is a row of FROM
    ByValue          an answer is its values: DISTINCT, UNION, INTERSECT, EXCEPT
    AtInstants       what is grouped, ranked or limited, evaluated wherever it may change
    RunningGroups    groups, by running states
    FirstRows        the first rows of each key

The first two are formed of rows. The others are *lifted*: their query is written out as a tree; of
the last two what is kept of a group gives the answers, so that it is never evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, TypeAlias

from sqlglot import exp

from tapestry.sql.ir import Arm, Block, SourceTable


# -- formed of rows -------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Formed:
    """An arm formed of rows: of arms over tables, and of blocks once it is in standard form."""

    arms: tuple[Arm, ...] = ()
    blocks: tuple[Block, ...] = ()

    @property
    def select_lists(self) -> tuple[tuple[exp.Expr, ...], ...]:
        """The select lists of its blocks."""
        return tuple(block.select for block in self.blocks)


@dataclass(frozen=True, kw_only=True)
class ByDerivation(Formed):
    """An arm whose answers count by derivation."""

    by_value: ClassVar[bool] = False
    audit: ClassVar[Mapping[int, exp.Expr]] = {}


@dataclass(frozen=True, kw_only=True)
class ByValue(Formed):
    """An arm whose answers count by value."""

    by_value: ClassVar[bool] = True
    audit: Mapping[int, exp.Expr] = field(default_factory=dict)
    """The audit columns, which are no part of an answer, by their places in the select list, over
    columns that name places (``tapestry.sql.read.audit_columns``)."""


# -- lifted ---------------------------------------------------------------------------------------
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


@dataclass(frozen=True, kw_only=True)
class Lifted:
    """An arm whose query is written out, to be evaluated at any instant (strategy 5).

    tree
        The query: CTEs written out, every alias of a relation unique.
    tables
        Its uses of sources, by alias. ``copies`` are those that ``changes`` read besides.
    by_rows
        Do the rows of FROM identify an answer, beside its values (aggregates, section 1)?
    number
        Which arm of the query it is, from 1.
    keys
        By the alias of each use that they cover, the values by which the rows of the query fall
        apart (aggregates, section 2); empty where they do not.
    clocks
        Where answers count by rows: places of the select list that read the clock, which are no
        part of an answer. Where they count by value, ``audit`` says them as in ``ByValue``.
    """

    tree: exp.Query = field(compare=False)
    tables: tuple[SourceTable, ...]
    by_rows: bool
    number: int = 1
    changes: tuple[Change, ...] = field(default=(), compare=False)
    keys: Mapping[str, tuple[exp.Expr, ...]] = field(default_factory=dict, compare=False)
    opens: tuple[exp.Expr, ...] = field(default=(), compare=False)
    """Instants before which no answer of a key holds, over columns that are named by places of the
    key, from 1: what the outermost conditions demand of now()."""
    clocks: tuple[int, ...] = ()
    audit: Mapping[int, exp.Expr] = field(default_factory=dict)

    @property
    def by_value(self) -> bool:
        """Whether its answers count by value, and new ones are told from known ones."""
        return not self.by_rows

    @property
    def select_lists(self) -> tuple[tuple[exp.Expr, ...], ...]:
        """The select list of its query."""
        return (tuple(self.tree.selects),)

    @property
    def all_tables(self) -> tuple[SourceTable, ...]:
        """The uses of sources, including those of ``changes``."""
        copies = [table for change in self.changes for table in change.tables]
        return (*self.tables, *copies)


@dataclass(frozen=True, kw_only=True)
class AtInstants(Lifted):
    """An arm that is evaluated at each instant at which something in it changes."""

    arms: ClassVar[tuple[Arm, ...]] = ()
    blocks: ClassVar[tuple[Block, ...]] = ()


@dataclass(frozen=True)
class State:
    """A running value of a group, by the rows that hold; ``place``: of its argument in their list.

    ``rows`` counts them, ``values`` those whose argument is not NULL; ``sum``, ``least`` and
    ``greatest`` are of the arguments, ``distinct`` and ``distinct_sum`` of each of those once.
    """

    kind: str
    place: int = -1


@dataclass(frozen=True, kw_only=True)
class KeptGroups(Lifted, Formed):
    """An arm of groups: what is kept of the rows of each gives its answers.

    width
        So many columns of the select list of its blocks are what it groups by; what is kept of a
        row stands behind them.
    items, where
        Its select list and its condition, over columns ``_k1`` … of the group and what is kept.
    """

    width: int
    items: tuple[exp.Expr, ...]
    where: exp.Expr | None = None

    def at_instants(self) -> AtInstants:
        """Return this arm as one that is evaluated at instants."""
        return AtInstants(**{one.name: getattr(self, one.name) for one in fields(Lifted)})


@dataclass(frozen=True, kw_only=True)
class RunningGroups(KeptGroups):
    """Groups by running states (aggregates, section 5), ``_s1`` …; the first counts their rows."""

    states: tuple[State, ...]


@dataclass(frozen=True, kw_only=True)
class FirstRows(KeptGroups):
    """The first rows of each group (aggregates, section 11, point 5).

    order
        Over columns ``_a1`` …, which are all that is kept of a row besides its group.
    count, dense
        Rows at so many first places are answers; ``dense``: rows that are equal take one place.
    """

    order: tuple[exp.Ordered, ...]
    count: int
    dense: bool


# -- all of them ----------------------------------------------------------------------------------
OuterArm: TypeAlias = ByDerivation | ByValue | AtInstants | RunningGroups | FirstRows
"""An arm of the outermost UNION ALL."""
Evaluated: TypeAlias = Block | AtInstants | RunningGroups | FirstRows
"""The unit whose new answers one strategy finds: a block of an arm, or an arm by itself."""


def with_arms(outer: OuterArm, arms: Iterable[Arm]) -> OuterArm:
    """The arm, formed of these arms over base tables."""
    return outer if isinstance(outer, AtInstants) else replace(outer, arms=tuple(arms))


def with_blocks(outer: OuterArm, change: Callable[[Block], Block]) -> OuterArm:
    """Return the arm with each of its blocks changed."""
    if isinstance(outer, AtInstants):
        return outer
    return replace(outer, blocks=tuple(map(change, outer.blocks)))


def with_keys(outer: OuterArm) -> OuterArm:
    """Return the arm with the key as an additional column; constant if its answers count by
    value.
    """

    def with_key(block: Block) -> Block:
        return replace(block, select=block.select + block.keys)

    return outer if isinstance(outer, Lifted) else with_blocks(outer, with_key)


def evaluated(outer: OuterArm) -> tuple[Evaluated, ...]:
    """Return the parts of an arm that strategies evaluate: the arm itself, or its blocks."""
    return (outer,) if isinstance(outer, Lifted) else outer.blocks
