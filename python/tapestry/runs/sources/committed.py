"""A source whose rows arrive with the commits that added them (``arrival: commit``)."""

from __future__ import annotations

from dataclasses import replace

from tapestry.errors import Refusal, SourceHistoryGone, StateMissing
from tapestry.names import COMMITS_TABLE, COMMITTED_AT
from tapestry.quoting import relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.commit_times import joined, lowest_unread
from tapestry.runs.sources.describe import DeltaSource, refuse_reserved
from tapestry.runs.sources.history import commit_millis
from tapestry.runs.sources.kept_commits import kept_times
from tapestry.sql.catalog import Column
from tapestry.words import counted

COMMIT = "commit"
"""The value of ``arrival`` for a source whose rows arrive with their commits."""
NEEDED = ("delta.enableRowTracking", "delta.enableInCommitTimestamps")
"""Table properties without which Delta does not say when a row was committed."""


def lacking(table: DeltaSource) -> tuple[str, ...]:
    """Return the properties that a table would need for ``arrival: commit``, and lacks."""
    return tuple(name for name in NEEDED if table.properties.get(name, "").lower() != "true")


def enabling(table: DeltaSource) -> str:
    """Return the statement that sets these properties."""
    listed = ", ".join(f"'{name}' = 'true'" for name in lacking(table))
    return f"ALTER TABLE {relation_name(table.name)} SET TBLPROPERTIES ({listed})"


def with_commits(session: Session, table: DeltaSource, version: int, kept_in: str) -> DeltaSource:
    """Return the table with the times of its commits up to ``version``.

    ``kept_in`` is the table where runs keep them; "" for none. Raises Refusal for a table that
    does not track them, SourceHistoryGone where the log no longer tells when ``version`` was made.
    """
    if lacking(table):
        raise Refusal(
            f"{table.name} does not say when its rows were committed, which arrival: commit needs",
            where=table.name,
            hint=f"{enabling(table)}  (it writes a commit for the rows that are there: they arrive"
            " with it; writers need Delta 4, each row's id and version are kept in the files)",
            code="untracked-commits",
        )
    refuse_reserved(table.name, table.columns, (COMMITTED_AT,))
    enabled = int(table.properties.get("delta.inCommitTimestampEnablementVersion", 0))
    kept = kept_times(session, kept_in, table.table_id) if kept_in else {}
    start = lowest_unread(kept, enabled)
    read = {} if start > version else commit_millis(session, table, start, version)
    times = joined(kept, read, enabled, version)
    if times is None:
        raise SourceHistoryGone(
            f"the log of {table.name} no longer tells when version {version} was committed",
            where=table.name,
            hint="run more often than delta.logRetentionDuration, or build the model again with"
            " --full-refresh",
        )
    columns = (*table.columns, Column(COMMITTED_AT, "timestamp"))
    return replace(table, columns=columns, commits=times)


def refuse_lost_times(table: DeltaSource, last_table_id: str | None) -> None:
    """Raise StateMissing where commit times that earlier runs knew are now unknown.

    A row would count at another instant than it did in those runs.
    """
    times = table.commits
    if times is None or last_table_id != table.table_id:
        return
    if times.lost:
        raise StateMissing(
            f"{COMMITS_TABLE} no longer says when rows of {table.name} were committed, nor does the"
            " log of that table",
            where=table.name,
            hint=f"bring {COMMITS_TABLE} back (it belongs to tapestry_state: restore both as of one"
            " moment), or build the model again with --full-refresh",
        )


def untold(table: DeltaSource, rows: int) -> Refusal:
    """Return the refusal of a table some of whose rows no known commit has added."""
    return Refusal(
        f"Delta does not say which commit of {table.name} added {counted(rows, 'row')} of it",
        where=table.name,
        hint="copy the table into a new one that has the properties from the beginning",
        code="untracked-commits",
    )
