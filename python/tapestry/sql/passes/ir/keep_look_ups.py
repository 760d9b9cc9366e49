"""Keep the look-ups that may stay joins, and take the others apart (``normalize.look_ups``).

A look-up stays where nothing of it says when an answer holds, and where no other table is joined
through it: Spark could not begin with that table then. The strategies that try several instants
join everything by themselves, so in their blocks, in subqueries and in tables by value it goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapestry.sql.arms import with_arms
from tapestry.sql.branches.selects import aliases_of, base_of
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.facts.arrivals import moving
from tapestry.sql.ir import Arm, ArmTable, Block, Conjunction, SourceTable
from tapestry.sql.normalize.look_ups import (
    LookUpsGone,
    bounded_ways,
    equates,
    looked_up,
    take_apart,
)
from tapestry.sql.normalize.standard_form import StandardForms
from tapestry.sql.query_state import QueryState


def keep_look_ups(query: QueryState) -> QueryState:
    """The query with the look-ups that cannot stay taken apart.

    Sound either way: a look-up is a LEFT JOIN by its definition, and what it is taken apart to is
    that definition. What it stays for is asked of the block that its arm will be.

    Raises Refusal where too many ways to form a row come of it.
    """
    forms = StandardForms()
    with query.as_place():
        arms = (
            with_arms(outer, (one for arm in outer.arms for one in bounded_ways(_kept(arm, forms))))
            for outer in LookUpsGone(_found).outermost(query.arms)
        )
        return query.with_arms(tuple(arms))


def _kept(arm: Arm, forms: StandardForms) -> Iterator[Arm]:
    found = [] if moving(arm.tables) else looked_up(arm.tables)
    gone = list(_that_go(found, arm.tables, forms.of(arm))) if found else []
    if not gone:
        yield arm
        return
    for side in take_apart(arm, gone[0]):
        yield from _kept(side, forms)


def _that_go(
    found: list[SourceTable], tables: tuple[ArmTable, ...], block: Block
) -> Iterator[SourceTable]:
    if not strategy_for(block).at_bounds:
        yield from found
        return
    bounds = {alias for one in block.disjuncts for alias in _of_bounds(one)}
    for table in found:
        base = base_of({table.alias}, tables)
        joins = (aliases_of(c) for one in block.disjuncts for c in one.conditions if equates(c))
        joined = any(table.alias in join and not base_of(join, tables) <= base for join in joins)
        if joined or table.alias in bounds:
            yield table


def _of_bounds(conjunction: Conjunction) -> Iterator[str]:
    """The tables whose columns are in a bound, of subqueries too."""
    for bound in conjunction.lowers + conjunction.uppers:
        yield from aliases_of(bound)
    for exists in conjunction.exists:
        yield from _of_bounds(exists.inner)


def _found(arm: Arm) -> list[SourceTable]:
    return looked_up(arm.tables)
