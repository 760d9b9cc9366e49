"""The side tables of a target that whoever builds, closes or rewinds it has to know of."""

from __future__ import annotations

from tapestry.quoting import timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.side_table import SideTable
from tapestry.runs.tables.state import StateRow

KNOWN = SideTable(
    "known",
    "tapestry: hashes of answers that are known, though the table does not hold them",
    {"hash": "string", "matched_at": "timestamp"},
)
"""``<target>__known``: answers are delivered once ever (aggregates, section 6)."""

TABLES: tuple[SideTable, ...] = (KNOWN,)


def tidy(session: Session, row: StateRow, n: int) -> None:
    """Remove what does not exist once run ``n`` of the row's generation is over."""
    for table in TABLES:
        table.tidy(session, row, n)


def carry(session: Session, row: StateRow, newest: StateRow, erased: str = "") -> None:
    """Copy what counts up to the row's t to its generation; ``newest`` is what landed last.

    ``erased`` is a SELECT of rows of ``<target>__known`` that no run has written yet.
    """
    KNOWN.carry_over(session, row, newest, f"matched_at <= {timestamp(row.t)}", erased)
