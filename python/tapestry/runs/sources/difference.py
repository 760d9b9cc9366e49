"""Compares two positions of a source as bags of rows (maintained, section 6).

A position is a version of the table, and the instant until which its rows have arrived. Only
columns that are read count, so that a change of others is none; rows that went and came again
cancel. Files that both versions have are left out on both sides, which takes the same bag from
either. Where Delta kept a change feed of all versions between the two, its rows are counted instead
of the files'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from tapestry.quoting import identifier, identifiers, relation_name, string, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import canonical, key_names
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.history import COLUMN_OPERATIONS, SourceCommit, commits_between
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.rewrites import Versions, columns_at, touched_files
from tapestry.runs.sources.too_old import version_gone
from tapestry.sql.catalog import Column

COPIES = "_tap_copies"
"""By how many copies a row is more in the new version."""
FEED = "delta.enableChangeDataFeed"
_SIGNS = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"


class FeedViews(Protocol):
    """Provides change feeds that are read once for all models of an invocation."""

    def feed_view(self, table: DeltaSource, first: int, last: int) -> str:
        """Return the view of the feed of these versions; "": it is to be read directly."""


class SchemaChangedError(Exception):
    """A column that is read was added, dropped, renamed, or has another type."""


class NotComparableError(Exception):
    """A column that is read has a type whose values are not compared (MAP, VARIANT)."""


@dataclass(frozen=True)
class ReadSource:
    """A source as a query reads it: the columns that it reads, and how its rows arrive."""

    table: DeltaSource
    columns: tuple[Column, ...]
    arrival: Column | None

    def rows(self, version: int, until: datetime) -> str:
        """Return a SELECT of the read columns of a version's rows that have arrived."""
        names = ", ".join(f"_tap_s.{identifier(column.name)}" for column in self.columns)
        select = f"SELECT {names or 'NULL'} FROM {self.table.at(version)} AS _tap_s"
        if self.arrival is None:
            return select
        return f"{select} WHERE {arrival_sql(self.arrival, '_tap_s')} <= {timestamp(until)}"


@dataclass(frozen=True)
class SourceAt:
    """A position of a source."""

    pin: Pin
    until: datetime


@dataclass(frozen=True)
class SourceDifference:
    """The rows by which the two positions differ as bags.

    source, old, new
        The source and its positions.
    counted
        A SELECT of the columns, of ``_tap_arr``, and of ``COPIES``, by how many more the new
        version has of each row; "" where the versions do not differ.
    means
        By which means it was found: time | files | feed | whole.
    files
        How many files were read; None where it was all of them.
    size
        Bytes that are read to find it, as far as the log says.
    """

    source: ReadSource
    old: SourceAt
    new: SourceAt
    counted: str
    means: str
    files: int | None = None
    size: int = 0

    @property
    def in_time(self) -> bool:
        """Whether rows of both versions may arrive in between."""
        return self.source.arrival is not None and self.new.until > self.old.until

    def sides(self, counted: str) -> tuple[str, str]:
        """Return SELECTs of the rows that go and of those that come; ``counted`` holds the counts.

        Each row stands there as often as it goes or comes. A row that arrives in between comes with
        those that do, whether or not the old version had it.
        """
        arrival = self.source.arrival
        names = identifiers(column.name for column in self.source.columns)
        rows = self.source.rows(self.new.pin.version, self.new.until)
        minus = plus = f"SELECT * FROM ({rows}) LIMIT 0"
        if self.counted:
            arrived = ""
            if arrival is not None:
                arrived = f" AND _tap_arr <= {timestamp(self.old.until)}"
            minus, plus = (
                f"SELECT {names} FROM (SELECT {names},"
                f" explode(array_repeat(0, CAST(abs({COPIES}) AS INT))) AS _tap_c FROM {counted}"
                f" WHERE {COPIES} {sign} 0{arrived})"
                for sign in "<>"
            )
        if arrival is not None and self.in_time:
            since = f"{arrival_sql(arrival, '_tap_s')} > {timestamp(self.old.until)}"
            came = f"{rows} AND {since}"
            plus = f"{plus} UNION ALL {came}" if self.counted else came
        return minus, plus


def difference(
    session: Session,
    source: ReadSource,
    old: SourceAt,
    new: SourceAt,
    small: bool = False,
    feeds: FeedViews | None = None,
) -> SourceDifference | None:
    """Return the difference of the positions; None: there is none.

    ``small``: both versions are read whole, which takes less than to read the log. The log is not
    read then if the table is the same one, and no column can be another under its name.

    ``feeds`` reads a change feed once for all models; without it none is read.

    Raises SourceHistoryGone where the old version cannot be read or stands in another log,
    SchemaChangedError, NotComparableError.
    """
    in_time = source.arrival is not None and new.until > old.until
    if new.pin == old.pin:
        return SourceDifference(source, old, new, "", "time") if in_time else None
    if small and old.pin.table_id == new.pin.table_id and not source.table.renames:
        _refuse_other_columns(session, source, old.pin.version)
        versions = _versions(source, old, new, ())
        return SourceDifference(source, old, new, _named(source, versions.counts()), "whole")
    commits = commits_between(session, source.table, old.pin, new.pin)
    if commits is None:
        raise version_gone(source.table.name, old.pin.version, None)
    if any(commit.metadata for commit in commits):
        _refuse_other_columns(session, source, old.pin.version)
        if any(commit.operation in COLUMN_OPERATIONS for commit in commits):
            # Of the same name it may be another one.
            raise SchemaChangedError(next(c.name for c in source.columns))
    if not any(_moves_rows(commit) for commit in commits):
        return SourceDifference(source, old, new, "", "time") if in_time else None
    versions = _versions(source, old, new, commits)
    files = len(versions.files) or None
    size = sum(commit.size for commit in commits)
    if feeds is not None and _has_feed(session, source.table, old.pin, new.pin, commits):
        counted = _by_feed(source, old, new, feeds)
        return SourceDifference(source, old, new, counted, "feed", files, size)
    counted, means = _named(source, versions.counts()), "files" if files else "whole"
    return SourceDifference(source, old, new, counted, means, files, size)


def _moves_rows(commit: SourceCommit) -> bool:
    return commit.kind in ("append", "rewrite")


def _versions(
    source: ReadSource, old: SourceAt, new: SourceAt, commits: Sequence[SourceCommit]
) -> Versions:
    for column in source.columns:
        if canonical("e", column.type) != "e":
            raise NotComparableError(f"{column.name} {column.type}")
    read = replace(source.table, columns=source.columns)
    files = touched_files(commits)
    columns = source.columns
    return Versions(read, source.arrival, old.pin.version, new.pin.version, columns, files)


def _named(source: ReadSource, counts: str) -> str:
    """Return the counts by contents, under the columns' own names."""
    pairs = zip(key_names(source.columns).split(", "), source.columns, strict=True)
    listed = ", ".join(f"{key} AS {identifier(column.name)}" for key, column in pairs)
    return f"SELECT {listed}, _tap_arr, _d AS {COPIES} FROM ({counts})"


def _by_feed(source: ReadSource, old: SourceAt, new: SourceAt, feeds: FeedViews) -> str:
    names = identifiers(column.name for column in source.columns)
    arrival = source.arrival
    arr = "CAST(NULL AS TIMESTAMP)" if arrival is None else arrival_sql(arrival)
    first, last = old.pin.version + 1, new.pin.version
    feed = feeds.feed_view(source.table, first, last) or feed_of(source.table, first, last)
    return (
        f"SELECT {names}, _tap_arr, sum({COPIES}) AS {COPIES} FROM"
        f" (SELECT {names}, {arr} AS _tap_arr, {_SIGNS} AS {COPIES} FROM {feed})"
        f" GROUP BY {names}, _tap_arr HAVING sum({COPIES}) <> 0"
    )


def feed_of(table: DeltaSource, first: int, last: int) -> str:
    """Return the change feed of these versions, as it stands behind FROM.

    A statement has one feed of a table, and reads the table itself at a version: of two feeds, or
    of a feed and a table without a version, Spark 4.1 takes the first one in the place of both.
    """
    return f"table_changes({string(relation_name(table.name))}, {first:d}, {last:d})"


def _has_feed(
    session: Session,
    table: DeltaSource,
    old: Pin,
    new: Pin,
    commits: Sequence[SourceCommit],
) -> bool:
    """Return whether there is a change feed of all versions between; false on an error."""
    if table.properties.get(FEED, "").lower() != "true" or table.commits is not None:
        return False
    if table.remembered or old.table_id != new.table_id or any(c.metadata for c in commits):
        return False
    return feed_reaches(session, table, old.version + 1, new.version)


def feed_reaches(session: Session, table: DeltaSource, first: int, last: int) -> bool:
    """Return whether the change feed has all of these versions; false on an error.

    For `LIMIT 0` Spark makes an empty relation, without reading Delta's feed.
    """
    try:
        session.rows(f"SELECT 1 FROM {feed_of(table, first, last)} LIMIT 1")
    except Exception:
        return False
    return True


def _refuse_other_columns(session: Session, source: ReadSource, version: int) -> None:
    then = {column.name.lower(): column for column in columns_at(session, source.table, version)}
    for column in [*source.columns, *([] if source.arrival is None else [source.arrival])]:
        was = then.get(column.name.lower())
        if was is None or was.type != column.type:
            raise SchemaChangedError(column.name)
