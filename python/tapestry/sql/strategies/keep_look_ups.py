"""Keep the look-ups that may stay joins, and take the others apart (``normalize.look_ups``).

A look-up stays where nothing of it says when an answer holds, and where no other table is joined
through it: Spark could not begin with that table then. The strategies that try several instants
join everything by themselves, so in their blocks, in subqueries and in tables by value it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.branches.selects import aliases_of
from tapestry.sql.ir import (
    And,
    Arm,
    Block,
    Conjunction,
    ExistsFormula,
    Formula,
    Or,
    SourceTable,
    Table,
    ValueTable,
)
from tapestry.sql.normalize.look_ups import looked_up, take_apart
from tapestry.sql.normalize.to_standard_form import to_standard_form
from tapestry.sql.read.refuse_unsupported import WAYS
from tapestry.sql.strategies.choose import strategy_for


def keep_look_ups(arm: Arm) -> list[Arm]:
    """The arm, or what it becomes when the look-ups that cannot stay are taken apart."""
    return _bounded(_kept(_opened(arm)))


def _kept(arm: Arm) -> Iterator[Arm]:
    found = looked_up(arm.tables)
    gone = list(_that_go(found, arm.tables, to_standard_form(arm))) if found else []
    if not gone:
        yield arm
        return
    for side in take_apart(arm, gone[0]):
        yield from _kept(side)


def _that_go(
    found: list[SourceTable], tables: tuple[Table, ...], block: Block
) -> Iterator[SourceTable]:
    if not strategy_for(block).at_bounds:
        yield from found
        return
    bounds = {alias for one in block.disjuncts for alias in _of_bounds(one)}
    for table in found:
        base = _base({table.alias}, tables)
        joins = (aliases_of(c) for one in block.disjuncts for c in one.conditions if _equates(c))
        joined = any(table.alias in join and not _base(join, tables) <= base for join in joins)
        if joined or table.alias in bounds:
            yield table


def _equates(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.EQ | exp.NullSafeEQ)


def _of_bounds(conjunction: Conjunction) -> Iterator[str]:
    """The tables whose columns are in a bound, of subqueries too."""
    for bound in conjunction.lowers + conjunction.uppers:
        yield from aliases_of(bound)
    for exists in conjunction.exists:
        yield from _of_bounds(exists.inner)


def _base(aliases: Iterable[str], tables: tuple[Table, ...]) -> set[str]:
    """The tables that some are, or are looked up for."""
    joined = {one.alias: one.on or () for one in looked_up(tables)}
    found: set[str] = set()
    todo = set(aliases)
    while todo:
        alias = todo.pop()
        if alias in joined:
            todo |= {one for on in joined[alias] for one in aliases_of(on)} - {alias}
        else:
            found.add(alias)
    return found


# -- subqueries and tables by value -----------------------------------------------------------
def _opened(arm: Arm) -> Arm:
    """The arm with no look-up in anything but its own FROM clause."""
    tables = tuple(
        replace(one, universe=_apart(one.universe)) if isinstance(one, ValueTable) else one
        for one in arm.tables
    )
    return replace(arm, tables=tables, where=_opened_formula(arm.where))


def _opened_formula(formula: Formula) -> Formula:
    if isinstance(formula, And | Or):
        return replace(formula, parts=tuple(map(_opened_formula, formula.parts)))
    if isinstance(formula, ExistsFormula):
        return replace(formula, arms=_apart(formula.arms))
    return formula


def _apart(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    return tuple(side for arm in arms for side in _bounded(_without(_opened(arm))))


def _without(arm: Arm) -> Iterator[Arm]:
    found = looked_up(arm.tables)
    if not found:
        yield arm
        return
    for side in take_apart(arm, found[0]):
        yield from _without(side)


def _bounded(arms: Iterator[Arm]) -> list[Arm]:
    kept: list[Arm] = []
    for arm in arms:
        kept.append(arm)
        if len(kept) > WAYS:
            raise Refusal(
                f"the joins make more than {WAYS} ways to form a row: each LEFT JOIN doubles them,"
                " with and without a match, where it is in a subquery or time depends on it",
                hint="join in several models, the later ones reading the earlier ones; write JOIN"
                " instead of LEFT JOIN where a match is certain",
            )
    return kept
