"""Let many LEFT JOINs to tables that grow stay, to be evaluated one after the other.

    m ⟕ a1 ⟕ a2 ⟕ …      a row so far holds from some instant to another; a LEFT JOIN makes of it
                          a row with each match, while both hold, and one with NULLs in between

That is a *stage* a join (``strategies.stages``), where taking each apart makes 2^n ways of n. A
look-up stays where an answer's bounds do not hang on its columns, and its own on the tables that
are always there alone; and where no other table is joined through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tapestry.sql.arms import OuterArm, with_arms
from tapestry.sql.branches.selects import aliases_of, base_of
from tapestry.sql.facts.arrivals import moving
from tapestry.sql.ir import (
    FALSE,
    And,
    Arm,
    ArmTable,
    Condition,
    Conjunction,
    DerivedTable,
    Lower,
    SourceTable,
    Upper,
    all_of,
)
from tapestry.sql.normalize.look_ups import (
    LookUpsGone,
    bounded_ways,
    equates,
    looked_up,
    take_apart,
    without,
)
from tapestry.sql.normalize.standard_form import StandardForms
from tapestry.sql.query_state import QueryState
from tapestry.sql.strategies.chain import may_be_chain

FEW = 4
"""So many ways to form a row are written out: each reads narrow ranges only."""


def stage_joins(query: QueryState) -> QueryState:
    """The query with the LEFT JOINs to growing tables that cannot stay taken apart.

    Sound either way: a look-up is a LEFT JOIN by its definition, and what it is taken apart to is
    that definition.

    Raises Refusal where too many ways to form a row come of it.
    """
    with query.as_place():
        arms = LookUpsGone(_moving).outermost(query.arms)
        return query.with_arms(tuple(map(_staged, arms)))


def _staged(outer: OuterArm) -> OuterArm:
    if not any(moving(arm.tables) for arm in outer.arms):
        return outer
    forms = StandardForms()
    arms = bounded_ways(one for arm in outer.arms for one in _settled(arm, forms))
    ways = sum(2 ** len(moving(arm.tables)) for arm in arms if arm.where != FALSE)
    if ways <= FEW:
        arms = bounded_ways(side for arm in arms for side in without(arm, _moving))
    return with_arms(outer, arms)


def _settled(arm: Arm, forms: StandardForms) -> Iterator[Arm]:
    """The arm, its look-ups those that may stay."""
    if not moving(arm.tables) or arm.where == FALSE:
        yield arm
        return
    arm = replace(arm, tables=tuple(map(_flat, arm.tables)))
    disjuncts = forms.of(arm).disjuncts
    by_value = any(isinstance(table, DerivedTable) for table in arm.tables)
    if by_value or not may_be_chain(disjuncts):
        yield from without(arm, _moving)
        return
    gone = next(_that_go(arm.tables, disjuncts), None)
    if gone is None:
        yield arm
        return
    for side in take_apart(arm, gone):
        yield from _settled(side, forms)


def _that_go(
    tables: tuple[ArmTable, ...], disjuncts: Iterable[Conjunction]
) -> Iterator[SourceTable]:
    found = looked_up(tables)
    timed = {a for one in disjuncts for b in one.lowers + one.uppers for a in aliases_of(b)}
    for inner in (exists.inner for one in disjuncts for exists in one.exists):
        timed |= {a for bound in inner.lowers + inner.uppers for a in aliases_of(bound)}
    for table in found:
        if not all(isinstance(part, Lower | Upper) for part in table.within):
            yield table
            return
        bounds = [part.bound for part in table.within if isinstance(part, Lower | Upper)]
        timed |= {alias for bound in bounds for alias in aliases_of(bound)} - {table.alias}
    equalities = [aliases_of(c) for one in disjuncts for c in one.conditions if equates(c)]
    for table in found:
        base = base_of({table.alias}, tables)
        joined = (join for join in equalities if table.alias in join)
        if table.alias in timed or any(not base_of(one, tables) <= base for one in joined):
            yield table


def _flat(table: ArmTable) -> ArmTable:
    """A look-up with the conditions of its ON that time left over beside the others."""
    if not isinstance(table, SourceTable) or not table.within:
        return table
    together = all_of(*table.within)
    parts = together.parts if isinstance(together, And) else (together,)
    conditions = tuple(part.sql for part in parts if isinstance(part, Condition))
    within = tuple(part for part in parts if not isinstance(part, Condition))
    return replace(table, on=(*(table.on or ()), *conditions), within=within)


def _moving(arm: Arm) -> list[SourceTable]:
    return [] if arm.where == FALSE else moving(arm.tables)
