"""Finds late rows: rows that became readable after a run at τ with ts <= τ.

It uses the first means that the source has (semantics, section 3): row tracking; the files added
since the last pin, most of them excluded by their statistics; the difference of the two versions as
bags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapestry.errors import SourceHistoryGone
from tapestry.instants import at_or_after
from tapestry.quoting import strings, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.since_last_run import Since
from tapestry.runs.sources.contents import (
    column_list,
    content_hash,
    hash_decides,
    key_names,
    named_keys,
)
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.history import NAMES, SourceCommit
from tapestry.runs.sources.rewrites import Versions, columns_at, compare
from tapestry.runs.sources.stretches import SEGMENTS, stretches_of
from tapestry.runs.sources.too_old import to_read_again
from tapestry.sql.catalog import Column

FEW = 1_000
"""So many late rows of a source are told from the others by hashes that stand in the query."""


@dataclass(frozen=True)
class Late:
    """The late rows of one window.

    ``contents`` is a query over their keys with ``_tap_n``, the number of late copies; ``least`` is
    the least ts among them in microseconds; ``nulls`` new rows have no ts. ``hashes`` are those of
    their contents, where they are few and tell contents apart.
    """

    rows: int = 0
    grave: int = 0
    nulls: int = 0
    least: int | None = None
    contents: str = ""
    hashes: frozenset[str] | None = None


def find_late(since: Since, commits: Sequence[SourceCommit]) -> Late:
    """Return the late rows of a window whose commits rewrote nothing.

    Raises SourceHistoryGone when none of the means can tell.
    """
    nulls = _new_nulls(since, commits)
    candidates = [commit for commit in commits if commit.late_count]
    if not candidates:
        return Late(nulls=nulls)
    lows = [commit.late_from for commit in candidates]
    known = [low for low in lows if low is not None]
    low = min(known) if len(known) == len(lows) else None
    for rows in _selections(since, commits, candidates, low):
        try:
            return _counted(since, rows, nulls)
        except Exception:
            # A version or file that is gone; the next means may do without it.
            continue
    return _by_bags(since, commits, low, nulls)


def _selections(
    since: Since,
    commits: Sequence[SourceCommit],
    candidates: Sequence[SourceCommit],
    low: int | None,
) -> Iterator[str]:
    """Yield queries of late rows, with the source's columns and ``_tap_arr``; cheapest first."""
    evolved = any(commit.metadata for commit in commits)
    if since.table.row_tracking and not evolved:
        # A backfill would stamp old rows with its own version; it comes with a metadata commit.
        condition = f"_tap_s._metadata.row_commit_version > {since.last.version}"
        yield _rows(since, since.pin.version, condition, low)
    names = sum(len(commit.late_files) for commit in candidates)
    stretches = stretches_of(since.pin.version, commits, candidates)
    moved = any(version != since.pin.version for version in stretches)
    if names <= NAMES and len(stretches) <= SEGMENTS and not (moved and evolved):
        yield " UNION ALL ".join(
            _rows(since, version, f"_tap_s._metadata.file_name IN ({strings(files)})", low)
            for version, files in stretches.items()
        )


def _rows(since: Since, version: int, condition: str, low: int | None) -> str:
    arrival = _arrival(since)
    arr = arrival_sql(arrival, "_tap_s")
    start = at_or_after(low)
    bound = "" if start is None else f" AND {arr} >= {timestamp(start)}"
    return (
        f"SELECT {column_list(since.table.columns, '_tap_s')}, {arr} AS _tap_arr"
        f" FROM {since.table.at(version)} AS _tap_s"
        f" WHERE {condition} AND {arr} <= {timestamp(since.tau)}{bound}"
    )


def _counted(since: Since, rows: str, nulls: int) -> Late:
    columns = since.table.columns
    contents = (
        f"SELECT {key_names(columns)}, count(*) AS _tap_n"
        f" FROM (SELECT {named_keys(columns)} FROM ({rows})) GROUP BY {key_names(columns)}"
    )
    grave = f"_tap_arr <= {timestamp(since.grave_until)}"
    if hash_decides(columns):
        found = since.session.rows(
            f"SELECT unix_micros(_tap_arr), {grave}, {content_hash(columns)} FROM ({rows})"
            f" LIMIT {FEW + 1}"
        )
        if len(found) <= FEW:
            least = min((int(row[0]) for row in found), default=None)
            graves, hashes = sum(bool(row[1]) for row in found), frozenset(row[2] for row in found)
            return Late(len(found), graves, nulls, least, contents, hashes)
    count, graves, least = since.session.rows(
        f"SELECT count(*), count_if({grave}), unix_micros(min(_tap_arr)) FROM ({rows})"
    )[0]
    least = None if least is None else int(least)
    return Late(int(count), int(graves), nulls, least, contents)


def _by_bags(since: Since, commits: Sequence[SourceCommit], low: int | None, nulls: int) -> Late:
    """Find late rows by comparing versions from the least new ts on: older rows cannot differ."""
    table = since.table
    try:
        evolved = any(commit.metadata for commit in commits)
        old = columns_at(since.session, table, since.last.version) if evolved else table.columns
        versions = Versions(
            table,
            since.arrival,
            since.last.version,
            since.pin.version,
            old,
            between=(at_or_after(low), since.tau),
        )
        found = compare(since.session, versions, since.tau, since.grave_until)
    except Exception as error:
        raise cannot_tell(since, error) from error
    contents = late_contents(since, versions)
    return Late(found.late, found.grave, nulls, found.least, contents)


def late_contents(since: Since, versions: Versions) -> str:
    """Return a query of the late rows among those added, as ``Late.contents``."""
    return (
        f"SELECT {key_names(since.table.columns)}, _d AS _tap_n FROM ({versions.counts()})"
        f" WHERE _d > 0 AND _tap_arr <= {timestamp(since.tau)}"
    )


def cannot_tell(since: Since, why: Exception | None = None) -> SourceHistoryGone:
    """Return the error where no means can tell which rows came late."""
    name = since.table.name
    return SourceHistoryGone(
        f"what came late to {name} since version {since.last.version} cannot be told:"
        " its log or old files are gone",
        where=name,
        hint=f"{to_read_again(name, why)}set delta.enableRowTracking on it or run before"
        " its retention ends; now build the model again with --full-refresh",
    )


def _new_nulls(since: Since, commits: Sequence[SourceCommit]) -> int:
    """Return how many new rows have no ts: from statistics, else counted in the newest version."""
    counts = [commit.nulls for commit in commits]
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return sum(known)
    arrival, versions = _arrival(since), (since.last.version, since.pin.version)
    try:
        before, now = (count_nulls(since.session, since.table, v, arrival) for v in versions)
    except Exception:
        return 0  # one of them cannot be read any more
    return now - before


def count_nulls(session: Session, table: DeltaSource, version: int, arrival: Column) -> int:
    """Return how many rows have no ts; file statistics exclude every file without such rows."""
    relation = table.at(version)
    rows = session.rows(f"SELECT count(*) FROM {relation} WHERE {arrival_sql(arrival)} IS NULL")
    return int(rows[0][0])


def _arrival(since: Since) -> Column:
    if since.arrival is None:
        raise ValueError("a static source has no late rows")
    return since.arrival
