"""Walks over a whole query: over its arms, which they change, and over the tables of its blocks.

Each sees what stands in FROM by value and under [NOT] EXISTS too, at every depth, and each formula
or table that several places share once, so that it stays shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tapestry.sql.arms import Lifted, OuterArm, with_arms
from tapestry.sql.ir import (
    And,
    Arm,
    ArmTable,
    Conjunction,
    DerivedTable,
    ExistsFormula,
    Formula,
    Or,
    SourceTable,
    Table,
    ValueTable,
    all_of,
    any_of,
)

_K = TypeVar("_K")


class _Once:
    """A cache of results by the identity of their argument, which it keeps alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, object]] = {}

    def get(self, what: _K, made: Callable[[_K], _K]) -> _K:
        if id(what) not in self._known:
            self._known[id(what)] = what, made(what)
        return self._known[id(what)][1]  # type: ignore[return-value]


class ArmWalk:
    """Changes arms from the inside out; a subclass overrides ``leaf`` and ``arms``."""

    def __init__(self) -> None:
        self._once = _Once()

    def outermost(self, arms: tuple[OuterArm, ...]) -> tuple[OuterArm, ...]:
        """The query with its arms changed."""
        return tuple(with_arms(outer, map(self.arm, outer.arms)) for outer in arms)

    def leaf(self, formula: Formula) -> Formula:
        """Return the changed form of a formula that has no parts."""
        return formula

    def arms(self, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        """Return the changed form of the arms of a subquery, or of a table by value."""
        return tuple(map(self.arm, arms))

    def arm(self, arm: Arm) -> Arm:
        """Return the arm with everything in it changed."""
        return replace(
            arm, tables=tuple(map(self.table, arm.tables)), where=self.formula(arm.where)
        )

    def table(self, table: ArmTable) -> ArmTable:
        """The table with the arms in it, or its ON, changed."""
        if isinstance(table, DerivedTable):
            return self._once.get(table, self._table)
        if table.within:
            return replace(table, within=tuple(map(self.formula, table.within)))
        return table

    def formula(self, formula: Formula) -> Formula:
        """The formula with its leaves changed, and the arms in it."""
        return self._once.get(formula, self._formula)

    def _table(self, table: DerivedTable) -> DerivedTable:
        return replace(table, arms=self.arms(table.arms))

    def _formula(self, formula: Formula) -> Formula:
        if isinstance(formula, And | Or):
            together = all_of if isinstance(formula, And) else any_of
            parts = tuple(map(self.formula, formula.parts))
            same = all(one is other for one, other in zip(parts, formula.parts, strict=True))
            return formula if same else together(*parts)
        if isinstance(formula, ExistsFormula):
            return replace(formula, arms=self.arms(formula.arms))
        return self.leaf(formula)


def all_tables(arms: Iterable[OuterArm]) -> list[Table]:
    """Every table of every block, each before those in it; each table by value is opened once."""
    opened: set[int] = set()
    found: list[Table] = []
    for outer in arms:
        if isinstance(outer, Lifted):
            found += outer.all_tables
        for block in outer.blocks:
            for conjunction in block.disjuncts:
                found += tables_of(conjunction, opened)
    return found


def source_tables(arms: Iterable[OuterArm]) -> list[SourceTable]:
    """Return the uses of sources among all tables."""
    return [table for table in all_tables(arms) if isinstance(table, SourceTable)]


def tables_of(conjunction: Conjunction, opened: set[int] | None = None) -> Iterator[Table]:
    """Every table of a conjunction, of its subqueries and of its tables by value.

    ``opened`` are the tables by value (by identity) that are not opened again.
    """
    opened = set() if opened is None else opened
    for table in conjunction.tables:
        yield table
        if isinstance(table, ValueTable) and id(table) not in opened:
            opened.add(id(table))
            for block in table.universe:
                for inner in block.disjuncts:
                    yield from tables_of(inner, opened)
    for exists in conjunction.exists:
        yield from tables_of(exists.inner, opened)
