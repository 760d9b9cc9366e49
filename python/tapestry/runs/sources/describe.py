"""Looks up the table or view behind a name in a query.

Tables of other formats than Delta have no versions, so they cannot be pinned: refused (semantics,
section 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from difflib import get_close_matches
from typing import Any

from tapestry.errors import Refusal
from tapestry.names import ARRIVAL, COMMITTED_AT, ENDED, ROW_ID
from tapestry.quoting import identifier, relation_name
from tapestry.runs.engine.column_types import columns_in, in_full
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list, as_map
from tapestry.runs.sources.commit_times import CommitTimes
from tapestry.sql.catalog import Column, View
from tapestry.sql.facts.fixed_lengths import zone_is_fixed

LATE = "_late"
"""The STRUCT column of a kept table with the run, the batch and the end of a late row."""

RESERVED = frozenset({ARRIVAL, ENDED, ROW_ID, LATE, "_metadata"})
OWN_PREFIX = "_tap_"
"""The prefix of the columns that a run's queries over a source add to its own."""
REMEMBERED_ID = f"{OWN_PREFIX}row"
"""The id that Delta keeps of a row, where another table has a copy of it."""
LOCAL = "timestamp_ntz"
ARRIVAL_TYPES = ("timestamp", LOCAL, "date")
DETAILS = "# Detailed Table Information"
SESSION_CATALOG = "spark_catalog."


@dataclass(frozen=True)
class DeltaSource:
    """A Delta table that a query reads; ``size`` in bytes, ``changed`` at its newest commit."""

    name: str
    columns: tuple[Column, ...]
    table_id: str
    location: str
    properties: Mapping[str, str] = field(default_factory=dict)
    partitioned_by: tuple[str, ...] = ()
    size: int = 0
    changed: datetime | None = None
    commits: CommitTimes | None = None
    """The times of its commits, if its rows arrive with these: ``_committed_at`` is then among the
    columns."""
    remembered: str = ""
    """A relation that is read in its place at any version: those of its rows that matter, with
    their ids in ``REMEMBERED_ID`` where the table keeps ids (``tapestry.runs.memories``)."""

    @property
    def row_tracking(self) -> bool:
        """Whether Delta keeps an id and the commit version of every row."""
        return self.properties.get("delta.enableRowTracking", "").lower() == "true"

    @property
    def renames(self) -> bool:
        """Whether another column may have taken a column's name (column mapping)."""
        return self.properties.get("delta.columnMapping.mode", "none").lower() != "none"

    def at(self, version: int) -> str:
        """Return the table at one version, as it stands behind FROM."""
        if self.remembered:
            return self.remembered
        pinned = f"{relation_name(self.name)} VERSION AS OF {version}"
        if self.commits is None:
            return pinned
        # What Delta tells of a row stays within reach: its id, its file, the version of its commit.
        return f"(SELECT *, {self.commits.of_row()} AS {COMMITTED_AT}, _metadata FROM {pinned})"


def describe(session: Session, name: str) -> DeltaSource | View:
    """Look at ``name``: one DESCRIBE for a view, two for a Delta table; no Spark job.

    Raises Refusal for names that are not there, temporary views and formats other than Delta.
    """
    if "/" in name:
        raise Refusal(
            f"{name} is a path; a run pins tables of the catalog, by their names",
            where=name,
            hint="give it a name (create table … using delta location '…') and read that; or"
            " materialize what it holds: materialized='table' over it",
            code="path",
        )
    try:
        rows = session.rows(f"DESCRIBE TABLE EXTENDED {relation_name(name)}")
    except Exception as error:
        if "NOT_FOUND" not in str(error):
            raise
        raise Refusal(
            f"there is no table or view {name}",
            where=name,
            hint="load or build it first; is its schema the one that the query names?",
            code="unknown-relation",
        ) from error
    columns, details = _parts(session, name, rows)
    if details.get("Type", "").upper() == "VIEW":
        return _view(name, columns, details)
    provider = details.get("Provider", "").lower()
    if provider != "delta":
        raise _not_delta(name, provider)
    refuse_reserved(name, columns)
    columns = _marked(session, columns)
    detail = session.rows(f"DESCRIBE DETAIL {relation_name(name)}")[0]
    return DeltaSource(
        name=name,
        columns=columns,
        table_id=str(detail[1]),
        location=str(detail[4]),
        properties=properties_in(detail),
        partitioned_by=tuple(map(str, as_list(detail[7]))),
        size=int(detail[10] or 0),
        changed=_aware(detail[6]),
    )


def _marked(session: Session, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Mark columns of local times whose order may differ from that of the instants.

    A DATE is midnight, or the end of a transition at midnight: those are in order.
    """
    if all(column.type != LOCAL for column in columns):
        return columns
    ((zone,),) = session.rows("SELECT current_timezone()")
    unordered = not zone_is_fixed(str(zone))
    return tuple(replace(c, unordered=unordered and c.type == LOCAL) for c in columns)


def _aware(changed: Any) -> datetime | None:
    """Return the time of a commit; None from an engine that gives text or nothing."""
    return changed.astimezone(timezone.utc) if isinstance(changed, datetime) else None


def arrival_column(table: DeltaSource, arrival: str) -> Column:
    """Return the arrival column: a TIMESTAMP, or NTZ or DATE, which count in the session zone.

    Raises Refusal when it does not exist or has another type.
    """
    wanted = arrival.replace("`", "").lower()
    for column in table.columns:
        if column.name.lower() == wanted:
            break
    else:
        near = get_close_matches(wanted, [c.name.lower() for c in table.columns], 1)
        known = near[0] if near else ", ".join(c.name for c in table.columns)
        raise Refusal(
            f"the arrival column {arrival} is not in {table.name}",
            where=table.name,
            hint=f"set arrival or loaded_at_field to one of its columns: {known}",
            code="no-arrival-column",
        )
    if column.type.lower() not in ARRIVAL_TYPES:
        raise Refusal(
            f"the arrival column {arrival} of {table.name} has the type {column.type};"
            " an arrival is a TIMESTAMP, TIMESTAMP_NTZ or DATE",
            where=table.name,
            hint=f"let the loader write a timestamp column, or read a table upstream that has"
            f" cast({arrival} as timestamp)",
            code="arrival-type",
        )
    return column


def arrival_sql(column: Column, alias: str = "") -> str:
    """Return the arrival column as TIMESTAMP.

    A cast only where the type needs one: Spark unwraps it from comparisons with literals, so file
    statistics and partitions still prune. Where local times have another order than their instants
    Spark must not unwrap it, for the hour that is skipped in spring would be lost: adding no
    seconds hides the cast from Spark.
    """
    text = (f"{alias}." if alias else "") + identifier(column.name)
    if column.type.lower() == "timestamp":
        return text
    cast = f"CAST({text} AS TIMESTAMP)"
    return f"({cast} + INTERVAL 0 SECOND)" if column.unordered else cast


def _parts(
    session: Session, relation: str, rows: list[tuple[Any, ...]]
) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Return the columns and the detailed table information in DESCRIBE's rows."""
    columns = in_full(session, relation_name(relation), columns_in(rows))
    details: dict[str, str] = {}
    section = "columns"
    for name, text, *_ in rows:
        if name == "" or name.startswith("# "):
            section = "details" if name == DETAILS else "other"
        elif section == "details":
            details[name] = str(text)
    return tuple(Column(name, kind.lower()) for name, kind in columns), details


def _view(name: str, columns: tuple[Column, ...], details: Mapping[str, str]) -> View:
    # sql: the query of the view, as Spark keeps it
    sql = details.get("View Text") or details.get("View Original Text", "")
    namespace = details.get("View Catalog and Namespace", "").replace("`", "")
    produced = details.get("View Query Output Columns", "").strip("[]").replace("`", "")
    given = [column.name for column in columns]
    names = [part.strip() for part in produced.split(",")]
    if produced and (names != given or "*" in sql):
        # CREATE VIEW v (a, b) AS …: the names stand outside the text. A star in it would be all
        # columns of today; the view has those of the day when it was made.
        items = ", ".join(
            f"{identifier(old)} AS {identifier(new)}" for old, new in zip(names, given, strict=True)
        )
        sql = f"SELECT {items} FROM ({sql})"
    return View(name, sql, namespace.removeprefix(SESSION_CATALOG))


def _not_delta(name: str, provider: str) -> Refusal:
    if not provider:
        return Refusal(
            f"{name} is a temporary view: another session would not find it",
            where=name,
            hint="make it a Delta table, or a view in a schema over Delta tables",
            code="temporary-view",
        )
    ways = f"materialize it as a Delta table (create table … using delta as select * from {name})"
    if provider == "parquet":
        ways = f"convert to delta {name}, or {ways}"
    return Refusal(
        f"{name} is a {provider} table; it has no versions, so a run cannot pin what it read",
        where=name,
        hint=ways,
        code="not-delta",
    )


def refuse_reserved(
    name: str, columns: tuple[Column, ...], reserved: Collection[str] = RESERVED
) -> None:
    """Raise Refusal for a column whose name a run needs for a column of its own."""
    names = {column.name: column.name.lower() for column in columns}
    if taken := [n for n, low in names.items() if low in reserved or low.startswith(OWN_PREFIX)]:
        raise Refusal(
            f"{name} has a column {taken[0]}, a name that a run needs for itself",
            where=name,
            hint=f"call the column {taken[0]} otherwise",
            code="own-column",
        )


def properties_in(detail: tuple[Any, ...]) -> dict[str, str]:
    """Return the table properties: the only map in the row, whose place depends on Delta."""
    for value in detail[8:]:
        if isinstance(value, str) and value.startswith("{"):
            value = as_map(value)
        if isinstance(value, dict):
            return {str(key): str(text) for key, text in value.items()}
    return {}
