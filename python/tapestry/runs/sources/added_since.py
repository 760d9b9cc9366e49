"""The rows that were added to a source between two versions, as a relation.

They are found by the same means as late rows (``late``): the commit version that Delta keeps of
each row, else the files that were added. Statistics in the log say how early their arrivals are, so
that older files are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from tapestry.instants import at_or_after
from tapestry.quoting import strings, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import column_list
from tapestry.runs.sources.describe import REMEMBERED_ID, DeltaSource, arrival_sql
from tapestry.runs.sources.history import NAMES, SourceCommit, read_history
from tapestry.runs.sources.stretches import SEGMENTS, stretches_of
from tapestry.sql.catalog import Column

EVER = datetime(9999, 12, 31, tzinfo=timezone.utc)


def remembered_columns(table: DeltaSource) -> str:
    """Return the columns of a memory in a source's place (``DeltaSource.remembered``).

    They are SQL over the table ``_tap_s`` itself.
    """
    listed = column_list(table.columns, "_tap_s")
    ids = f", CAST(_tap_s._metadata.row_id AS STRING) AS {REMEMBERED_ID}"
    return listed + (ids if table.row_tracking else "")


def added_since(
    session: Session, table: DeltaSource, after: int, until: int, arrival: Column
) -> tuple[str, ...] | None:
    """Return SELECTs that together give the rows of versions ``(after, until]``, or None.

    None where rows were changed or removed, where the log does not reach back that far, and where
    too many files came in between two compactions. The columns are ``remembered_columns``.
    Raises SourceHistoryGone.
    """
    commits = read_history(session, table, after, until, arrival, EVER)
    if any(commit.kind == "rewrite" for commit in commits):
        return None
    added = [commit for commit in commits if commit.kind == "append"]
    if not added:
        return ()
    evolved = any(commit.metadata for commit in commits)
    range_ = _range(added, arrival)
    if table.row_tracking and not evolved:
        condition = f"_tap_s._metadata.row_commit_version > {after:d}"
        return (_select(table, until, f"{condition}{range_}"),)
    if evolved or sum(commit.late_count for commit in added) > NAMES:
        return None
    stretches = stretches_of(until, commits, added)
    if len(stretches) > SEGMENTS:
        return None
    return tuple(
        _select(table, version, f"_tap_s._metadata.file_name IN ({strings(files)}){range_}")
        for version, files in stretches.items()
        if files
    )


def _select(table: DeltaSource, version: int, condition: str) -> str:
    columns = remembered_columns(table)
    return f"SELECT {columns} FROM {table.at(version)} AS _tap_s WHERE {condition}"


def _range(added: Sequence[SourceCommit], arrival: Column) -> str:
    """Return a condition that excludes files without a new row: their rows arrive earlier.

    Rows without an arrival are never visible: a reader does without them.
    """
    lows = [commit.late_from for commit in added if commit.late_count]
    known = [low for low in lows if low is not None]
    start = at_or_after(min(known)) if known and len(known) == len(lows) else None
    return "" if start is None else f" AND {arrival_sql(arrival, '_tap_s')} >= {timestamp(start)}"
