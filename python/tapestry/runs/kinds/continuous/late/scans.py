"""From a pin and a kept table to the scan that a query reads, late rows with it.

Without late rows it is the table itself, pinned, so that every predicate reaches file statistics.
With late rows it is a union: the source without the contents that were ever late, and those from
the kept table. Predicates go down into both arms, on the arrival too: in the first it is ts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.runs.kinds.continuous.late.side import Side, not_late
from tapestry.runs.sources.contents import column_list
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.scans import NEVER, plain_scan, row_id
from tapestry.sql.catalog import Column
from tapestry.sql.scan import Scan


@dataclass(frozen=True)
class SourceReading:
    """How a run reads a source: at which version, with which late rows, with those that ended.

    ``late_from`` as in ``Scan``.
    """

    pin: Pin
    arrival: Column
    side: Side
    ends: bool = False
    late_from: datetime | None = None

    def of(self, table: DeltaSource) -> Scan:
        """The scan of the source, or of what stands in its place (``DeltaSource.remembered``)."""
        if self.side.live or (self.ends and self.side.gone):
            return self.with_late(table)
        return plain_scan(table, self.pin, self.arrival, self.ends)

    def with_late(self, table: DeltaSource) -> Scan:
        """The scan that finds late rows in the kept table, whether there are any or not."""
        arms = [arm for arm in self.arms_by_time(table) if arm]
        if self.ends:
            arms = [f"SELECT *, {NEVER} AS {ENDED} FROM ({arm})" for arm in arms]
            if self.side.gone:
                arms.append(self.side.gone_rows(table.columns))
        relation = f"({' UNION ALL '.join(arms)})"
        scan = Scan(relation, ARRIVAL, ROW_ID, late=True, size=table.size)
        return replace(scan, late_from=self.late_from)

    def arms_by_time(self, table: DeltaSource) -> tuple[str, str]:
        """SELECTs of the rows whose content never came late, and of the others; "" for none.

        Each has the columns of the source, the arrival and the row id.
        """
        columns, pin, side = table.columns, self.pin, self.side
        rows = (
            f"SELECT {column_list(columns, '_tap_s')}, {row_id(table, '_tap_s')} AS {ROW_ID}"
            f" FROM {table.at(pin.version)} AS _tap_s WHERE {self.not_late(columns)}"
        )
        names, arrival = column_list(columns), arrival_sql(self.arrival)
        timely = f"SELECT {names}, {arrival} AS {ARRIVAL}, {ROW_ID} FROM ({rows})"
        return timely, side.rows(columns) if side.live else ""

    def not_late(self, columns: Sequence[Column], prefix: str = "") -> str:
        """The condition on columns of these names that their content never came late."""
        return not_late(columns, self.side, prefix)


def living(scan: Scan, late: bool) -> Scan:
    """The rows of a scan with ``ends`` that have not ended; ``late``: did any of them come late?"""
    relation = f"(SELECT * FROM {scan.relation} WHERE {ENDED} = {NEVER})"
    return replace(scan, relation=relation, late=late)
