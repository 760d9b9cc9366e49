"""Makes the scan that a query reads, late rows included, from a pin and a kept table.

Without late rows it is the table itself, pinned, so that every predicate reaches file statistics.
With late rows it is a union: the source without the contents that were ever late, and those from
the kept table. Predicates go down into both arms, on the arrival too: in the first it is ts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.late.side import Side, not_late, read_side, side_name
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.contents import column_list
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.scans import NEVER, plain_scan, row_id
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.catalog import Column
from tapestry.sql.scan import Scan


@dataclass(frozen=True)
class SourceReading:
    """The way a run reads a source: its version, its late rows, and the rows that ended.

    ``late_from`` as in ``Scan``.
    """

    pin: Pin
    arrival: Column
    side: Side
    ends: bool = False
    late_from: datetime | None = None

    def of(self, table: DeltaSource) -> Scan:
        """Return the scan of the source, or of what replaces it (``DeltaSource.remembered``)."""
        if self.side.live or (self.ends and self.side.gone):
            return self.with_late(table)
        return plain_scan(table, self.pin, self.arrival, self.ends)

    def with_late(self, table: DeltaSource) -> Scan:
        """Return the scan that reads late rows from the kept table, even without any."""
        arms = [arm for arm in self.arms_by_time(table) if arm]
        if self.ends:
            arms = [f"SELECT *, {NEVER} AS {ENDED} FROM ({arm})" for arm in arms]
            if self.side.gone:
                arms.append(self.side.gone_rows(table.columns))
        relation = f"({' UNION ALL '.join(arms)})"
        scan = Scan(relation, ARRIVAL, ROW_ID, late=True, size=table.size)
        return replace(scan, late_from=self.late_from)

    def arms_by_time(self, table: DeltaSource) -> tuple[str, str]:
        """Return SELECTs of the rows whose content never came late, and of the others; "": none.

        Each has the columns of the source, the arrival and the row id.
        """
        columns, pin, side = table.columns, self.pin, self.side
        rows = (
            f"SELECT {column_list(columns, '_tap_s')}, {row_id(table, '_tap_s')} AS {ROW_ID}"
            f" FROM {table.at(pin.version)} AS _tap_s WHERE {not_late(columns, side)}"
        )
        names, arrival = column_list(columns), arrival_sql(self.arrival)
        timely = f"SELECT {names}, {arrival} AS {ARRIVAL}, {ROW_ID} FROM ({rows})"
        return timely, side.rows(columns) if side.live else ""


def scan_as_left(
    session: Session, relations: Relations, name: str, row: StateRow | None
) -> tuple[Scan, bool]:
    """Return how the run after ``row`` would read a source, and whether rows have ended by then.

    It does not look for rows that came late since.
    """
    pinned, column, scan = relations.tables[name], relations.arrives(name), relations.scan(name)
    if row is None or column is None:
        return scan, False
    side = Side(side_name(row.model, pinned.table.name), row.generation, row.n + 1, row.run_id)
    side = read_side(session, side, row.after.pins.get(name), pinned.table.columns)
    if side.live:
        scan = SourceReading(pinned.pin, column, side).with_late(pinned.table)
    return replace(scan, since=begins(row).began), bool(side.gone)


def living(scan: Scan, late: bool) -> Scan:
    """Return the rows of a scan that have not ended; ``late``: whether any of them came late."""
    relation = f"(SELECT * FROM {scan.relation} WHERE {ENDED} = {NEVER})"
    return replace(scan, relation=relation, late=late)


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows of one source that a run reports.

    late
        Late rows of this window.
    null
        New rows without ts, which are never visible.
    vanished
        Rows that are gone since the last run (``deletes_ok``).
    """

    late: int = 0
    null: int = 0
    vanished: int = 0


@dataclass(frozen=True)
class Examination:
    """The result of examining one source for a run.

    changed
        Whether this run reads another version than the last one.
    rows
        How many of its rows came late, have no ts, or are gone.
    scan
        How the query reads the source, once ``before`` was executed.
    standing
        How a statement reads it before that; None: alike.
    before
        Statements to be executed, in order, before the target's commit.
    refresh
        The model has to be built again (``on_source_rewrite: refresh``).
    warnings
        Sentences for the user.
    reading
        How ``scan`` reads a source with an arrival; a memory in its place is read in the same way.
    """

    changed: bool
    scan: Scan
    rows: RowCounts = RowCounts()
    before: tuple[str, ...] = ()
    refresh: bool = False
    warnings: tuple[str, ...] = ()
    standing: Scan | None = None
    reading: SourceReading | None = None

    @property
    def kept(self) -> bool:
        """Whether late rows of it stand in a kept table, which the next run needs."""
        return self.reading is not None and self.reading.side.needed

    @property
    def living_late(self) -> bool:
        """Whether there are late rows that have not ended."""
        return self.reading is not None and bool(self.reading.side.live)

    @property
    def last_end(self) -> datetime | None:
        """The last end of the deleted rows that the scans have, with ``_ended``; None: none."""
        return self.reading.side.last_end if self.ends and self.reading is not None else None

    @property
    def ends(self) -> bool:
        """Whether the scans have rows that were deleted."""
        return self.reading is not None and self.reading.ends
