"""Compares two versions of a source as bags, and applies the model's rule for vanished rows.

Files alone cannot tell: a copy-on-write DELETE adds the survivors again. Yet a file that stands in
both versions holds the same rows in both, so leaving such files out on both sides takes the same
bag from either and the differences stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from tapestry.errors import SourceRewritten
from tapestry.quoting import identifier, strings, timestamp
from tapestry.runs.engine.column_types import columns_of_query, sql_type
from tapestry.runs.engine.errors_of_delta import history_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import key_names, named_keys
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.sources.history import NAMES, SourceCommit
from tapestry.runs.sources.too_old import version_gone
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class Versions:
    """An old and a new version of a source, and which of their rows can differ."""

    table: DeltaSource
    arrival: Column | None
    old: int
    new: int
    old_columns: tuple[Column, ...]
    files: tuple[str, ...] = ()
    """The files that a commit between the two touched; empty: all."""
    between: tuple[datetime | None, datetime | None] = (None, None)
    """Only rows that arrive in this closed range; None: unbounded."""

    def rows(self, version: int) -> str:
        """Return a subquery of one version: the new version's columns and ``_tap_arr``."""
        columns = self.table.columns
        if version == self.new:
            items = [f"_tap_s.{identifier(column.name)}" for column in columns]
        else:
            known = {column.name.lower(): column for column in self.old_columns}
            items = [_adapted(column, known.get(column.name.lower())) for column in columns]
        # A column that was added after the old version has no arrival there: NULL.
        there = self.old_columns if version == self.old else columns
        arrival = self.arrival
        if arrival is None or arrival.name.lower() not in {c.name.lower() for c in there}:
            arr = "CAST(NULL AS TIMESTAMP)"
        else:
            arr = arrival_sql(arrival, "_tap_s")
        conditions = []
        if self.files:
            conditions.append(f"_tap_s._metadata.file_name IN ({strings(self.files)})")
        low, high = self.between
        if low is not None:
            conditions.append(f"{arr} >= {timestamp(low)}")
        if high is not None:
            conditions.append(f"{arr} <= {timestamp(high)}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        at = self.table.at(version)
        return f"(SELECT {', '.join(items)}, {arr} AS _tap_arr FROM {at} AS _tap_s{where})"

    def counts(self) -> str:
        """Return a query: contents with ``_d``, how many more copies the new version has."""
        columns = self.table.columns
        names = key_names(columns)
        sides = " UNION ALL ".join(
            f"SELECT {named_keys(columns)}, _tap_arr, {sign} AS _d FROM {self.rows(version)}"
            for version, sign in ((self.new, 1), (self.old, -1))
        )
        return (
            f"SELECT {names}, _tap_arr, sum(_d) AS _d FROM ({sides})"
            f" GROUP BY {names}, _tap_arr HAVING sum(_d) <> 0"
        )


@dataclass(frozen=True)
class Difference:
    """The difference of versions as bags; ``late`` rows have ts <= τ, ``least`` is their least."""

    vanished: int
    appended: int
    late: int = 0
    grave: int = 0
    nulls: int = 0
    least: int | None = None


def compare(
    session: Session, versions: Versions, tau: datetime | None, grave_until: datetime | None
) -> Difference:
    """Count vanished and new rows between two versions (one scan of each).

    ``grave`` counts late rows with ts <= ``grave_until``.
    """
    late, grave = (
        f"_d > 0 AND _tap_arr <= {timestamp(until)}" if until is not None else "false"
        for until in (tau, grave_until)
    )
    row = session.rows(
        "SELECT coalesce(-sum(_d) FILTER (WHERE _d < 0), 0),"
        " coalesce(sum(_d) FILTER (WHERE _d > 0), 0),"
        f" coalesce(sum(_d) FILTER (WHERE {late}), 0),"
        f" coalesce(sum(_d) FILTER (WHERE {grave}), 0),"
        " coalesce(sum(_d) FILTER (WHERE _d > 0 AND _tap_arr IS NULL), 0),"
        f" unix_micros(min(_tap_arr) FILTER (WHERE {late})) FROM ({versions.counts()})"
    )[0]
    vanished, appended, late_rows, grave_rows, nulls = (int(value) for value in row[:5])
    least = None if row[5] is None else int(row[5])
    return Difference(vanished, appended, late_rows, grave_rows, nulls, least)


def columns_at(session: Session, table: DeltaSource, version: int) -> tuple[Column, ...]:
    """Return the columns that ``table`` had at ``version`` (analysis only, no job).

    Raises SourceHistoryGone for a version that cannot be read any more.
    """
    try:
        columns = columns_of_query(session, f"SELECT * FROM {table.at(version)}")
    except Exception as error:
        if not history_gone(error):
            raise
        raise version_gone(table.name, version, error) from error
    return tuple(Column(name, kind.lower()) for name, kind in columns if name != "_metadata")


def touched_files(commits: Sequence[SourceCommit]) -> tuple[str, ...]:
    """Return the files that commits added or removed; empty when they are too many to name."""
    names = {name for commit in commits for name in commit.touched}
    return tuple(sorted(names)) if len(names) <= NAMES else ()


def rewritten(
    table: DeltaSource, commits: Sequence[SourceCommit], what: str, hint: str = ""
) -> SourceRewritten:
    """Return the error that names the commit which rewrote the source, and the way out."""
    commit = next((c for c in commits if c.kind == "rewrite"), commits[-1] if commits else None)
    which = ""
    if commit is not None:
        when = datetime.fromtimestamp(commit.millis / 1000, timezone.utc)
        which = f" in version {commit.version} ({commit.operation}, {when:%Y-%m-%d %H:%M:%S} UTC)"
    return SourceRewritten(
        f"{table.name} {what}{which}",
        where=table.name,
        hint=hint
        or "set on_source_rewrite: deletes_ok if its rows may be deleted, or refresh to build the"
        " model again by itself; or run once with --full-refresh",
    )


def _adapted(column: Column, old: Column | None) -> str:
    """Return a column of the new schema, read from the old version."""
    name = identifier(column.name)
    if old is None:
        return f"CAST(NULL AS {sql_type(column.type)}) AS {name}"
    if old.type == column.type:
        return f"_tap_s.{name}"
    return f"CAST(_tap_s.{name} AS {sql_type(column.type)}) AS {name}"
