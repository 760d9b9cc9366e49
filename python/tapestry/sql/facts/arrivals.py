"""The instants from which and until which rows of a table are there: arrivals and ends.

The rows of a look-up have no part in this: where one is missing, the row around it has NULLs.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.ir import ArmTable, Block, Lower, SourceTable, Table, Upper

TIME_BEGINS_CTE = "time_begins"
TIME_BEGINS = exp.Subquery(this=exp.select("at").from_(TIME_BEGINS_CTE))
"""The begin of time: the earliest arrival in any source, computed by a CTE of a run's SQL."""
TIME_BEGINS.type = exp.DataType.build("timestamptz")


def arrivals(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """Return the arrival of each append-only table, as lower bounds."""
    return tuple(
        arrival_of(table)
        for table in tables
        if isinstance(table, SourceTable) and table.appended and table.on is None
    )


def ends(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """Return the end of the rows of each table whose rows end, as upper bounds."""
    return tuple(
        _instant(ENDED, table)
        for table in tables
        if isinstance(table, SourceTable) and table.ends and table.on is None
    )


def moving(tables: Iterable[Table | ArmTable]) -> list[SourceTable]:
    """Return the look-ups whose rows come or go, or match only for a time."""
    return [
        table
        for table in tables
        if isinstance(table, SourceTable)
        and table.on is not None
        and (table.appended or table.ends or table.within)
    ]


def match_starts(table: SourceTable) -> tuple[exp.Expr, ...]:
    """Return the lower bounds of the match of a look-up's row; none if it always matched.

    The row matches from the latest of them on.
    """
    arrived = (arrival_of(table),) if table.appended else ()
    return arrived + tuple(one.bound for one in table.within if isinstance(one, Lower))


def match_ends(table: SourceTable) -> tuple[exp.Expr, ...]:
    """Return the upper bounds of the match of a look-up's row; none if it never ends.

    The row matches until the earliest of them.
    """
    ended = (_instant(ENDED, table),) if table.ends else ()
    return ended + tuple(one.bound for one in table.within if isinstance(one, Upper))


def arrival_of(table: SourceTable) -> exp.Expr:
    """Return ``alias._arrival``, typed."""
    return _instant(ARRIVAL, table)


def _instant(name: str, table: SourceTable) -> exp.Expr:
    column = exp.column(name, table=table.alias)
    column.type = exp.DataType.build("timestamptz")
    return column


def holds_from_begin(block: Block) -> bool:
    """Return whether the begin of time bounds a disjunct of a block, after ``add_begin``."""
    return any(TIME_BEGINS in conjunction.lowers for conjunction in block.disjuncts)
