"""Keep running states where each row of theirs holds for one interval; else evaluate at instants.

A row that holds several times would be counted in pieces, one whose interval a subquery decides has
no end that is known beforehand; an extreme, or the first rows of a key, say nothing once a row of
theirs is gone.
"""

from __future__ import annotations

from tapestry.sql.arms import FirstRows, OuterArm, RunningGroups
from tapestry.sql.choose_strategy import BOUNDS, strategy_for
from tapestry.sql.ir import Block, SourceTable
from tapestry.sql.query_state import QueryState

EXTREMES = frozenset({"least", "greatest"})


def keep_sums(query: QueryState) -> QueryState:
    """The query, its arms without running states where these do not give their answers.

    Sound because the state of a group at an instant is by definition that of the rows that hold
    then: those that began by then, less those that ended (aggregates, section 5).
    """
    return query.with_arms(tuple(_kept(arm) for arm in query.arms))


def _kept(arm: OuterArm) -> OuterArm:
    if isinstance(arm, RunningGroups):
        lasting = any(state.kind in EXTREMES for state in arm.states)
    elif isinstance(arm, FirstRows):
        lasting = True
    else:
        return arm
    holds = bool(arm.blocks) and all(_holds(block, lasting) for block in arm.blocks)
    return arm if holds else arm.at_instants()


def _holds(block: Block, lasting: bool) -> bool:
    if len(block.disjuncts) != 1 or strategy_for(block) is not BOUNDS:
        return False
    (conjunction,) = block.disjuncts
    if lasting and conjunction.uppers:
        return False
    return all(isinstance(table, SourceTable) for table in conjunction.tables)
