"""Keep running states where each row of theirs holds for one interval; else evaluate at instants.

A row that holds several times would be counted in pieces, one whose interval a subquery decides has
no end that is known beforehand; an extreme, or the first rows of a key, say nothing once a row of
theirs is gone.
"""

from __future__ import annotations

from dataclasses import replace

from tapestry.sql.ir import Block, Firsts, Part, SourceTable
from tapestry.sql.query_state import QueryState
from tapestry.sql.strategies.choose import BOUNDS, strategy_for

EXTREMES = frozenset({"least", "greatest"})


def keep_sums(query: QueryState) -> QueryState:
    """The query, its arms without running states where these do not give their answers.

    Sound because the state of a group at an instant is by definition that of the rows that hold
    then: those that began by then, less those that ended (aggregates, section 5).
    """
    return query.with_parts(tuple(_kept(part) for part in query.parts))


def _kept(part: Part) -> Part:
    if part.lifted is None or part.lifted.sums is None:
        return part
    sums = part.lifted.sums
    lasting = isinstance(sums, Firsts) or any(state.kind in EXTREMES for state in sums.states)
    if part.blocks and all(_holds(block, lasting) for block in part.blocks):
        return part
    return replace(part, blocks=(), lifted=replace(part.lifted, sums=None))


def _holds(block: Block, lasting: bool) -> bool:
    if len(block.disjuncts) != 1 or strategy_for(block) is not BOUNDS:
        return False
    (conjunction,) = block.disjuncts
    if lasting and conjunction.uppers:
        return False
    return all(isinstance(table, SourceTable) for table in conjunction.tables)
