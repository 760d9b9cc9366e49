"""The begin of time: the earliest arrival in any source, which a CTE of a run's SQL finds."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.ir import Block

TIME_BEGINS_CTE = "time_begins"
TIME_BEGINS = exp.Subquery(this=exp.select("at").from_(TIME_BEGINS_CTE))
TIME_BEGINS.type = exp.DataType.build("timestamptz")


def holds_from_begin(block: Block) -> bool:
    """Is any disjunct of a block as ``add_begin`` gives it bounded by the begin of time?"""
    return any(TIME_BEGINS in conjunction.lowers for conjunction in block.disjuncts)
