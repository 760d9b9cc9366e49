"""From when on a disjunct may hold: the model's begin, or that of time, the earliest arrival."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.ir import Block, Conjunction, SourceTable
from tapestry.sql.statement.render import TIME_BEGINS_CTE

TIME_BEGINS = exp.Subquery(this=exp.select("at").from_(TIME_BEGINS_CTE))
TIME_BEGINS.type = exp.DataType.build("timestamptz")


def timed(block: Block, begin: datetime | None) -> Block:
    """Every disjunct bounded from below: by the model's begin, by the begin of time."""
    disjuncts = []
    for conjunction in block.disjuncts:
        lowers = conjunction.lowers
        if begin is not None:
            lowers += (timing.literal(begin),)
        elif not _arrives(conjunction):
            # Only static tables: valid since ever, but time begins at the earliest arrival.
            lowers += (TIME_BEGINS.copy(),)
        disjuncts.append(replace(conjunction, lowers=lowers))
    return replace(block, disjuncts=tuple(disjuncts))


def holds_from_begin(block: Block) -> bool:
    """Is any disjunct of a block as ``timed`` gives it bounded by the begin of time?"""
    return any(TIME_BEGINS in conjunction.lowers for conjunction in block.disjuncts)


def _arrives(conjunction: Conjunction) -> bool:
    """Does the conjunction need a row of an append-only source to be true?"""
    if any(isinstance(t, SourceTable) and t.appended for t in conjunction.tables):
        return True
    return any(not one.negated and _arrives(one.inner) for one in conjunction.exists)
