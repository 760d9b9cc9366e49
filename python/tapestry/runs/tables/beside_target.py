"""The kept tables of a target that a build, a closing or a rewind has to know of."""

from __future__ import annotations

from tapestry.quoting import timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.kept import KeptTable
from tapestry.runs.tables.state_row import StateRow

KNOWN = KeptTable(
    "known",
    "tapestry: hashes of answers that are known, though the table does not hold them",
    {"hash": "string", "matched_at": "timestamp"},
)
"""``<target>__known``: answers are delivered once ever (aggregates, section 6)."""

GROUPS = KeptTable("memory", "tapestry: what is kept of groups, as changes from run to run")
"""``<target>__memory``: running states (aggregates, section 5). Its columns are its query's."""

TABLES: tuple[KeptTable, ...] = (KNOWN, GROUPS)


def groups_of(row: StateRow) -> tuple[int, str] | None:
    """Return from which run on rows of ``<target>__memory`` count, and their fingerprint."""
    for one in row.beside:
        suffix, _, rest = one.partition(":")
        number, _, form = rest.partition(":")
        if suffix == GROUPS.suffix and number.isdecimal():
            return int(number), form
    return None


def tidy(session: Session, row: StateRow, n: int, made: bool = False) -> None:
    """Remove the rows that no longer count once run ``n`` of the row's generation is over.

    ``made`` as in ``KeptTable.tidy``.
    """
    groups = groups_of(row)
    for table in TABLES:
        since = groups[0] if groups is not None and table is GROUPS else 0
        table.tidy(session, row, n, since, made)


def carry(session: Session, row: StateRow, newest: StateRow, erased: str = "") -> None:
    """Copy rows that count up to the row's t to its generation; ``newest`` landed last.

    ``erased`` is a SELECT of rows of ``<target>__known`` that no run has written yet.
    """
    KNOWN.carry_over(session, row, newest, f"matched_at <= {timestamp(row.after.t)}", erased)
