"""From when to when rows are there: their arrival, and their end."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.ir import SourceTable, Table


def arrivals(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """The arrival of each append-only table, as lower bounds."""
    return tuple(
        arrival_of(table) for table in tables if isinstance(table, SourceTable) and table.appended
    )


def ends(tables: Iterable[Table]) -> tuple[exp.Expr, ...]:
    """The end of the rows of each table whose rows end, as upper bounds."""
    return tuple(
        _instant(ENDED, table) for table in tables if isinstance(table, SourceTable) and table.ends
    )


def arrival_of(table: SourceTable) -> exp.Expr:
    """``alias._arrival``, typed."""
    return _instant(ARRIVAL, table)


def _instant(name: str, table: SourceTable) -> exp.Expr:
    column = exp.column(name, table=table.alias)
    column.type = exp.DataType.build("timestamptz")
    return column
