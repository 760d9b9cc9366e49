"""Recognises a LEFT JOIN to a static table as a look-up, and takes one apart again.

    m ⟕ d  =  (m ⋈ d)  ∪  (m with NULLs where NOT EXISTS d)

Every row of a static table is visible at every instant. Where ON is free of time and of subqueries,
which of them a row of m meets, or that it meets none, never changes: a derivation of ``m ⟕ d``
holds exactly as long as its row of m does. So the join may stay as it is, a *look-up*, and n of
them are one block instead of 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.walk import ArmWalk
from tapestry.sql.ir import (
    ATOM,
    FALSE,
    And,
    Arm,
    ArmTable,
    Condition,
    ExistsFormula,
    Formula,
    Lower,
    Or,
    SourceTable,
    Table,
    Upper,
    all_of,
)
from tapestry.sql.read.refuse_unsupported import WAYS
from tapestry.sql.write import build

Change = Callable[[exp.Expr], exp.Expr]
Find = Callable[[Arm], list[SourceTable]]
_T = TypeVar("_T", Table, ArmTable)


def look_up(
    tables: tuple[ArmTable, ...], on: Formula, columns: Iterable[exp.Expr]
) -> SourceTable | None:
    """Return the right side of a LEFT JOIN as a look-up; None if it is none.

    It is one static table, all of its ``columns`` are the table's own (an expression of them
    need not be NULL where they are), and ``on`` is a conjunction of opaque conditions.
    """
    parts = on.parts if isinstance(on, And) else (on,)
    if len(tables) != 1 or not all(isinstance(part, Condition) for part in parts):
        return None
    (table,) = tables
    if not isinstance(table, SourceTable) or table.appended or table.ends or table.on is not None:
        return None
    if not all(isinstance(one, exp.Column) and one.table == table.alias for one in columns):
        return None
    return replace(table, on=tuple(part.sql for part in parts if isinstance(part, Condition)))


def looked_up(tables: Iterable[Table | ArmTable]) -> list[SourceTable]:
    """The look-ups among some tables, each before those that are joined on its columns."""
    return [one for one in tables if isinstance(one, SourceTable) and one.on is not None]


def with_on(table: _T, change: Change) -> _T:
    """Return a look-up with its join conditions changed; any other table as it is."""
    if not isinstance(table, SourceTable) or table.on is None:
        return table
    within = tuple(_changed_formula(part, change) for part in table.within)
    return replace(table, on=tuple(map(change, table.on)), within=within)


def take_apart(arm: Arm, table: SourceTable) -> tuple[Arm, Arm]:
    """The two sides of the union that a look-up of the arm stands for: with a match, and without.

    Sound: it is the definition of the outer join. WHERE comes after it, so that without a match
    every column of the table is NULL there, and in the ON of further look-ups.
    """
    bare = replace(table, on=None, within=())
    match = all_of(*(Condition(condition) for condition in table.on or ()), *table.within)
    tables = tuple(bare if one is table else one for one in arm.tables)
    met = replace(arm, tables=tables, where=all_of(arm.where, match))
    left = replace(arm, tables=tuple(one for one in arm.tables if one is not table))
    unmet = _changed(left, lambda node: _nulled(node, table.alias))
    absent = ExistsFormula(True, (Arm((bare,), match, ()),))
    return met, replace(unmet, where=all_of(unmet.where, absent))


def bounded_ways(arms: Iterator[Arm]) -> list[Arm]:
    """Return the arms of look-ups taken apart; raise Refusal if there are too many."""
    kept: list[Arm] = []
    for arm in arms:
        kept.append(arm)
        if len(kept) > WAYS:
            raise Refusal(
                f"the joins make more than {WAYS} ways to form a row: each LEFT JOIN doubles them,"
                " with and without a match, where it is in a subquery or time depends on it",
                hint="join in several models, the later ones reading the earlier ones; write JOIN"
                " instead of LEFT JOIN where a match is certain",
                code="too-many-joins",
            )
    return kept


def _changed(arm: Arm, change: Change) -> Arm:
    """The arm with every expression changed; a table by value refers to nothing around it."""
    tables = tuple(with_on(table, change) for table in arm.tables)
    select, keys = tuple(map(change, arm.select)), tuple(map(change, arm.keys))
    return Arm(tables, _changed_formula(arm.where, change), select, keys)


def _changed_formula(formula: Formula, change: Change) -> Formula:
    if isinstance(formula, And | Or):
        return replace(formula, parts=tuple(_changed_formula(p, change) for p in formula.parts))
    if isinstance(formula, ExistsFormula):
        return replace(formula, arms=tuple(_changed(arm, change) for arm in formula.arms))
    if isinstance(formula, Lower | Upper):
        bound = change(formula.bound)
        return FALSE if _is_null(bound) else replace(formula, bound=bound)
    assert isinstance(formula, Condition), "a time atom is solved before"
    changed = change(formula.sql)
    compares = isinstance(changed, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE)
    never = compares and (_is_null(changed.this) or _is_null(changed.expression))
    return FALSE if never else Condition(changed)


def _is_null(node: exp.Expr) -> bool:
    """Return whether an expression is certainly NULL, as casts and arithmetic of NULL are."""
    if isinstance(node, exp.Cast | exp.Paren):
        return _is_null(node.this)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return _is_null(node.this) or _is_null(node.expression)
    return isinstance(node, exp.Null)


def _nulled(node: exp.Expr, alias: str) -> exp.Expr:
    """The expression with NULLs for the columns of a table."""
    if not any(column.table == alias for column in node.find_all(exp.Column)):
        return node

    def null(part: exp.Expr) -> exp.Expr:
        own = isinstance(part, exp.Column) and part.table == alias
        return build.null_like(part) if own else part

    changed = node.transform(null)
    changed.meta.pop(ATOM, None)  # that is about the column
    return changed


def equates(condition: exp.Expr) -> bool:
    """Return whether a condition is an equality."""
    return isinstance(condition, exp.EQ | exp.NullSafeEQ)


class LookUpsGone(ArmWalk):
    """Arms with no look-up of some kind, which ``find`` finds, but in their own FROM clause."""

    def __init__(self, find: Find) -> None:
        super().__init__()
        self.find = find

    def arms(self, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        """Return the arms of a subquery, or of a table by value, without them."""
        return tuple(
            side for arm in arms for side in bounded_ways(without(self.arm(arm), self.find))
        )


def without(arm: Arm, find: Find) -> Iterator[Arm]:
    """The arm with the look-ups that ``find`` finds taken apart."""
    found = find(arm)
    if not found:
        yield arm
        return
    for side in take_apart(arm, found[0]):
        yield from without(side, find)
