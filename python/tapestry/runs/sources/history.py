"""Reads the changes of a source between two versions from its log with one query.

The log's actions say more than DESCRIBE HISTORY: whether data changed, which files, and their
statistics, so that late rows are mostly excluded without opening a data file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, Protocol

from tapestry.errors import SourceHistoryGone
from tapestry.instants import micros
from tapestry.quoting import identifier, string, timestamp
from tapestry.runs.engine.errors_of_delta import log_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.commit_times import CommitTimes
from tapestry.runs.sources.describe import DeltaSource
from tapestry.sql.catalog import Column

Kind = Literal["append", "compaction", "metadata", "rewrite"]

NAMES = 500
"""More file names than this do not go into a query: then it reads without them."""

COLUMN_OPERATIONS = frozenset({"DROP COLUMNS", "RENAME COLUMN", "REPLACE COLUMNS"})
"""Metadata alone, yet the values of old rows change: compared like a rewrite."""
COMPACTIONS = ("OPTIMIZE", "REORG", "ROW TRACKING BACKFILL", "COMPUTE STATS", "ANALYZE", "VACUUM")
"""Operations (how their names begin) whose files hold the rows that were there. Any other writer
may say of its files that no data has changed: they are compared all the same."""
RESTORED = "RESTORE"
"""May only add files, yet what is in them was committed long before: compared like a rewrite."""

_NO_PATTERN = str.maketrans({sign: f"\\{sign}" for sign in "\\{}[]*?"})
LISTED = 64
"""So many log files are named one by one; more are found by their common prefix."""


@dataclass(frozen=True)
class SourceCommit:
    """One commit of a source; file names stand for their last path segment.

    late_files, late_from
        Files with new data that may hold rows with ts <= τ, and a lower bound of ts in them in
        microseconds (None: unknown). ``late_count`` may exceed the names, which are at most 500.
    nulls
        Rows with NULL ts in files with new data; None where statistics do not say.
    size
        Bytes that tell what it changed: of its change files, else of the files that came and went.
    """

    version: int
    kind: Kind
    operation: str = ""
    millis: int = 0
    metadata: bool = False
    table_id: str | None = None
    touched: tuple[str, ...] = ()
    late_files: tuple[str, ...] = ()
    late_count: int = 0
    late_from: int | None = None
    nulls: int | None = 0
    size: int = 0


def read_history(
    session: Session,
    table: DeltaSource,
    after: int,
    until: int,
    arrival: Column | None = None,
    tau: datetime | None = None,
) -> tuple[SourceCommit, ...]:
    """Return the commits of versions ``(after, until]``, in order.

    Raises SourceHistoryGone when the log no longer reaches back that far.
    """
    query = _query(table, after, until, None if table.commits else arrival, tau)
    try:
        rows = session.rows(query)
    except Exception as error:
        raise _gone(table, after, until) from error
    commits = tuple(_commit(row) for row in sorted(rows))
    if [commit.version for commit in commits] != list(range(after + 1, until + 1)):
        raise _gone(table, after, until)
    return tuple(_in_time(commit, table.commits, tau) for commit in commits)


class TableVersion(Protocol):
    """One version of one table."""

    @property
    def table_id(self) -> str:
        """The id of the table; a table that was made anew has another one."""

    @property
    def version(self) -> int:
        """The number of its commit."""


def commits_between(
    session: Session,
    table: DeltaSource,
    old: TableVersion,
    new: TableVersion,
    arrival: Column | None = None,
    tau: datetime | None = None,
) -> tuple[SourceCommit, ...] | None:
    """Return the commits from one pin of a table to another; None where the log lacks some.

    CREATE OR REPLACE gives a table a new id in the same log; DROP and CREATE begin a new log.
    """
    if new.version <= old.version:
        return None
    try:
        commits = read_history(session, table, old.version, new.version, arrival, tau)
    except SourceHistoryGone:
        return None
    if old.table_id == new.table_id:
        return commits
    if new.table_id not in {commit.table_id for commit in commits}:
        return None
    return commits if table_id_at(session, table, old.version) == old.table_id else None


def _in_time(commit: SourceCommit, times: CommitTimes | None, tau: datetime | None) -> SourceCommit:
    """Return a commit with facts from its time about rows that arrive with it."""
    if times is None:
        return commit
    at = times.at(commit.version)
    if tau is not None and at <= tau:
        return replace(commit, late_from=micros(at), nulls=0)
    return replace(commit, late_files=(), late_count=0, late_from=None, nulls=0)


def commit_millis(session: Session, table: DeltaSource, first: int, until: int) -> dict[int, int]:
    """Return when the versions from ``first`` to ``until`` were made, as far as the log says."""
    source, condition = _paths(table, first - 1, until)
    time = "get_json_object(value, '$.commitInfo.inCommitTimestamp')"
    try:
        rows = session.rows(
            "SELECT CAST(substring(_metadata.file_name, 1, 20) AS BIGINT) AS version,"
            f" max(CAST({time} AS BIGINT)) AS millis FROM {source}"
            f" WHERE {condition} AND value LIKE '{{\"commitInfo\":%' GROUP BY 1"
        )
    except Exception as error:
        if log_gone(error):
            return {}
        raise
    return {int(version): int(millis) for version, millis in rows if millis is not None}


def table_id_at(session: Session, table: DeltaSource, version: int) -> str | None:
    """Return the table id in force at ``version``, None when the log no longer says."""
    rows = session.rows(
        "SELECT max_by(get_json_object(value, '$.metaData.id'), _metadata.file_name)"
        f" FROM text.{_log(table, '[0-9]' * 20)}"
        f" WHERE _metadata.file_name <= {string(_file(version))} AND value LIKE '{{\"metaData\":%'"
    )
    return rows[0][0] if rows else None


def _gone(table: DeltaSource, after: int, until: int) -> SourceHistoryGone:
    return SourceHistoryGone(
        f"the log of {table.name} does not tell what happened in versions {after + 1} to {until}",
        where=table.name,
        hint="run more often than delta.logRetentionDuration, or build the model again with"
        " --full-refresh",
    )


def _file(version: int) -> str:
    return f"{version:020d}.json"


def _log(table: DeltaSource, pattern: str) -> str:
    """Return the log files of a pattern; wildcards in the folder's own name are escaped."""
    folder = table.location.rstrip("/").translate(_NO_PATTERN)
    return identifier(f"{folder}/_delta_log/{pattern}.json")


def _paths(table: DeltaSource, after: int, until: int) -> tuple[str, str]:
    """Return a relation of log files for FROM, and the condition that keeps only wanted ones."""
    first, last = f"{after + 1:020d}", f"{until:020d}"
    if until - after <= LISTED:
        names = [f"{version:020d}" for version in range(after + 1, until + 1)]
        pattern = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
        return f"text.{_log(table, pattern)}", "true"
    different = next(i for i in range(20) if first[i] != last[i])
    prefix = first[:different]
    pattern = prefix + "[0-9]" * (20 - len(prefix))
    name = "_metadata.file_name"
    condition = f"{name} BETWEEN {string(_file(after + 1))} AND {string(_file(until))}"
    return f"text.{_log(table, pattern)}", condition


_VECTOR: Final = "action.add.deletionVector"
_CHANGED_BYTES: Final = f"""coalesce(sum(action.cdc.size), CAST(
    coalesce(sum(action.add.size) FILTER (WHERE added AND {_VECTOR} IS NULL), 0)
    + coalesce(sum(action.remove.size) FILTER (WHERE removed), 0)
    - coalesce(sum(action.add.size) FILTER (WHERE added AND {_VECTOR} IS NOT NULL), 0)
    + coalesce((sum({_VECTOR}.cardinality) FILTER (WHERE added)
      - coalesce(sum(action.remove.deletionVector.cardinality) FILTER (WHERE removed), 0))
      * (sum(action.add.size) FILTER (WHERE added AND {_VECTOR} IS NOT NULL)
      / sum(records) FILTER (WHERE added AND {_VECTOR} IS NOT NULL)), 0) AS BIGINT))"""
"""Bytes of the change files, else of the files that came and went.  A file that comes with a
deletion vector goes in the same commit without its new rows: these are what has changed of it."""


def _query(
    table: DeltaSource, after: int, until: int, arrival: Column | None, tau: datetime | None
) -> str:
    source, condition = _paths(table, after, until)
    lowest, nulls = "CAST(NULL AS TIMESTAMP)", "CAST(NULL AS BIGINT)"
    if arrival is not None:
        lowest, nulls = _statistics(table, arrival)
    # Statistics are cut to milliseconds; one of them is the distance that keeps the test sound.
    early, distance = "false", "1 MILLISECOND"
    if arrival is not None and arrival.unordered:
        distance = "1 DAY"  # nor is the least local time the least instant: a transition is shorter
    if tau is not None:
        bound = f"{timestamp(tau)} + INTERVAL {distance}"
        early = f"NOT nothing AND (lowest IS NULL OR lowest <= {bound})"
    schema = (
        "commitInfo STRUCT<operation STRING, timestamp BIGINT>, metaData STRUCT<id STRING>,"
        " add STRUCT<path STRING, dataChange BOOLEAN, stats STRING, size BIGINT,"
        " deletionVector STRUCT<cardinality BIGINT>, partitionValues MAP<STRING, STRING>>,"
        " remove STRUCT<path STRING, dataChange BOOLEAN, size BIGINT,"
        " deletionVector STRUCT<cardinality BIGINT>>, cdc STRUCT<size BIGINT>"
    )
    limit = NAMES + 1
    return f"""
WITH log AS (
  SELECT CAST(substring(_metadata.file_name, 1, 20) AS BIGINT) AS version,
    from_json(value, {string(schema)}) AS action
  FROM {source} WHERE {condition}
), actions AS (
  SELECT version, action, action.add.dataChange AS added, action.remove.dataChange AS removed,
    element_at(split(coalesce(action.add.path, action.remove.path), '/'), -1) AS file,
    from_json(action.add.stats, 'numRecords BIGINT').numRecords AS records,
    {lowest} AS lowest, {nulls} AS nulls
  FROM log
), files AS (
  SELECT *, coalesce(nulls = records, false) AS nothing FROM actions
)
SELECT version, max(action.commitInfo.operation), max(action.commitInfo.timestamp),
  count_if(added), count_if(removed), count_if(action.add.path IS NOT NULL
    OR action.remove.path IS NOT NULL), count_if(action.metaData IS NOT NULL),
  max(action.metaData.id),
  to_json(slice(collect_set(file), 1, {limit})),
  to_json(slice(collect_set(file) FILTER (WHERE added AND {early}), 1, {limit})),
  count_if(added AND {early}),
  CASE WHEN count_if(added AND {early} AND lowest IS NULL) = 0
    THEN unix_micros(min(lowest) FILTER (WHERE added AND {early}) - INTERVAL {distance}) END,
  CASE WHEN count_if(added AND nulls IS NULL) = 0
    THEN coalesce(sum(nulls) FILTER (WHERE added), 0) END,
  {_CHANGED_BYTES}
FROM files GROUP BY version"""


def _statistics(table: DeltaSource, arrival: Column) -> tuple[str, str]:
    """Return SQL for the least arrival of a file and for its number of NULLs."""
    name = identifier(arrival.name)
    schema = (
        f"numRecords BIGINT, minValues STRUCT<{name}: STRING>, nullCount STRUCT<{name}: BIGINT>"
    )
    stats = f"from_json(action.add.stats, {string(schema)})"
    if arrival.name in table.partitioned_by:
        value = f"action.add.partitionValues[{string(arrival.name)}]"
        known = f"map_contains_key(action.add.partitionValues, {string(arrival.name)})"
        nulls = f"IF({known}, IF({value} IS NULL, {stats}.numRecords, 0), NULL)"
        return f"try_cast({value} AS TIMESTAMP)", nulls
    return f"try_cast({stats}.minValues.{name} AS TIMESTAMP)", f"{stats}.nullCount.{name}"


def _commit(row: tuple[object, ...]) -> SourceCommit:
    version, operation, millis, added, removed, files, metadata, table_id = row[:8]
    touched, late_files, late_count, late_from, nulls, size = row[8:]
    kind: Kind = "metadata"
    if removed or operation in COLUMN_OPERATIONS or (added and operation == RESTORED):
        kind = "rewrite"
    elif added:
        kind = "append"
    elif files:
        same = str(operation or "").upper().startswith(COMPACTIONS)
        kind = "compaction" if same else "rewrite"
    return SourceCommit(
        version=_int(version),
        kind=kind,
        operation=str(operation or ""),
        millis=_int(millis or 0),
        metadata=bool(metadata),
        table_id=None if table_id is None else str(table_id),
        touched=tuple(json.loads(str(touched))),
        late_files=tuple(json.loads(str(late_files))),
        late_count=_int(late_count),
        late_from=None if late_from is None else _int(late_from),
        nulls=None if nulls is None else _int(nulls),
        size=_int(size),
    )


def _int(value: object) -> int:
    return int(str(value))
