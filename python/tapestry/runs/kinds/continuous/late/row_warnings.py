"""What a user is told of a source's rows: those that came late, and those that never arrive."""

from __future__ import annotations

from tapestry.errors import LateRowsFound
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.late import Late
from tapestry.runs.kinds.continuous.late.since_last_run import Since
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column
from tapestry.words import counted


def late_warning(since: Since, late: Late) -> tuple[str, ...]:
    """Say that rows are late by ``late_after`` or more; raises LateRowsFound where they may not."""
    if not late.grave or since.rules.late_rows == "deliver":
        return ()
    rows = counted(late.grave, "row")
    text = f"{rows} came to {since.table.name} {since.rules.late_after} or more after their time"
    if since.rules.late_rows == "fail":
        raise LateRowsFound(
            text,
            where=since.table.name,
            hint="set late_rows: warn or deliver to let them arrive now, or repair the source",
        )
    return (f"{text}; they count as arrived just after {since.tau:%Y-%m-%d %H:%M:%S.%f} UTC",)


def count_nulls(session: Session, table: DeltaSource, pin: Pin, column: Column) -> int:
    """How many rows have no ts; statistics leave out every file that has none."""
    relation = table.at(pin.version)
    rows = session.rows(f"SELECT count(*) FROM {relation} WHERE {arrival_sql(column)} IS NULL")
    return int(rows[0][0])


def null_warning(table: DeltaSource, column: Column | None, rows: int) -> tuple[str, ...]:
    """Say that rows will never be visible."""
    if column is None or not rows:
        return ()
    new = counted(rows, "new row") + (" of {} has" if rows == 1 else " of {} have")
    return (f"{new.format(table.name)} no {column.name} and will never be visible",)
