"""The table ``tapestry_commits``: the times of sources' commits, read from logs and kept.

Delta deletes old log files; a row that such a commit added keeps its arrival by this table. It
depends on the sources alone, so that all models of a schema share it; duplicates in it are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import StateUnreadable
from tapestry.quoting import relation_name, string
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.own_tables import OwnTable, refuse_other
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.commit_times import CommitTimes

COLUMNS = {
    "table_id": "string",
    "source": "string",
    "version": "bigint",
    "committed_at": "timestamp",
    "kept_at": "timestamp",
}


@dataclass(frozen=True)
class UnkeptCommits:
    """Times of commits of one source that ``table`` does not have yet."""

    table: str
    table_id: str
    source: str
    times: CommitTimes


def kept_times(session: Session, table: str, table_id: str) -> dict[int, int]:
    """Return version and milliseconds of a table's kept times; none where nothing is kept.

    Raises StateUnreadable for a row that no run has written.
    """
    try:
        rows = session.rows(
            "SELECT version, unix_micros(min(committed_at)), count(DISTINCT committed_at)"
            f" FROM {relation_name(table)} WHERE table_id = {string(table_id)} GROUP BY version"
        )
    except Exception as error:
        if not_found(error) or files_gone(error):
            return {}
        refuse_other(session, table, COLUMNS)
        raise
    times: dict[int, int] = {}
    for version, micros, different in rows:
        if version is None or version < 0 or micros is None or different != 1 or micros % 1000:
            raise StateUnreadable(
                f"when version {version} of a source was committed cannot be read",
                where=f"{table} (table_id {table_id})",
                hint="put that row right or delete it (the table's DESCRIBE HISTORY tells who wrote"
                " it); what the source's log still tells is written again",
            )
        times[int(version)] = int(micros) // 1000
    return times


def keep_times(session: Session, every: Sequence[UnkeptCommits]) -> None:
    """Write times that are not kept yet; another run may do the same: duplicates are equal."""
    for one in every:
        own = OwnTable(one.table, COLUMNS, "Tapestry: when commits of sources were made")
        own.write(session, _insert(one))


def _insert(one: UnkeptCommits) -> str:
    listed = string(str(one.times.to_keep()))
    return (
        f"INSERT INTO {relation_name(one.table)} ({', '.join(COLUMNS)})"
        f" SELECT {string(one.table_id)}, {string(one.source)}, pair[0],"
        f" timestamp_millis(pair[1]), current_timestamp()"
        f" FROM (SELECT explode(from_json({listed}, 'array<array<bigint>>')) AS pair)"
    )
