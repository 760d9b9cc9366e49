"""The begin of time: the earliest arrival in any source, computed by a CTE of a run's SQL."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.ir import Block

TIME_BEGINS_CTE = "time_begins"
TIME_BEGINS = exp.Subquery(this=exp.select("at").from_(TIME_BEGINS_CTE))
TIME_BEGINS.type = exp.DataType.build("timestamptz")


def holds_from_begin(block: Block) -> bool:
    """Return whether the begin of time bounds a disjunct of a block, after ``add_begin``."""
    return any(TIME_BEGINS in conjunction.lowers for conjunction in block.disjuncts)
