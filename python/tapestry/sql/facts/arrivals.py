"""From when to when rows are there: their arrival, and their end.

A look-up's rows say nothing of that: where they are not there, NULLs stand in their place.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.ir import ArmTable, Lower, SourceTable, Table, Upper


def arrivals(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """The arrival of each append-only table, as lower bounds."""
    return tuple(
        arrival_of(table)
        for table in tables
        if isinstance(table, SourceTable) and table.appended and table.on is None
    )


def ends(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """The end of the rows of each table whose rows end, as upper bounds."""
    return tuple(
        _instant(ENDED, table)
        for table in tables
        if isinstance(table, SourceTable) and table.ends and table.on is None
    )


def moving(tables: Iterable[Table | ArmTable]) -> list[SourceTable]:
    """The look-ups whose rows come or go, or match for a time only."""
    return [
        table
        for table in tables
        if isinstance(table, SourceTable)
        and table.on is not None
        and (table.appended or table.ends or table.within)
    ]


def match_starts(table: SourceTable) -> tuple[exp.Expr, ...]:
    """The bounds from whose latest on a row of a look-up matches; none: since ever."""
    arrived = (arrival_of(table),) if table.appended else ()
    return arrived + tuple(one.bound for one in table.within if isinstance(one, Lower))


def match_ends(table: SourceTable) -> tuple[exp.Expr, ...]:
    """The bounds from whose earliest on a row of a look-up matches no more; none: never."""
    ended = (_instant(ENDED, table),) if table.ends else ()
    return ended + tuple(one.bound for one in table.within if isinstance(one, Upper))


def arrival_of(table: SourceTable) -> exp.Expr:
    """``alias._arrival``, typed."""
    return _instant(ARRIVAL, table)


def _instant(name: str, table: SourceTable) -> exp.Expr:
    column = exp.column(name, table=table.alias)
    column.type = exp.DataType.build("timestamptz")
    return column
