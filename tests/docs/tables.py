"""Tables of a page as data of DuckDB: their types, and when a row of them is late."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import duckdb

from tapestry.sql import Column, Scan, Source

READABLE = "(readable at)"
"""A column of this name says when a row became readable: it is no column of the source."""
TICK = timedelta(microseconds=1)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d+)?)?)?")
_SQL = {"int": "BIGINT", "timestamp": "TIMESTAMPTZ", "string": "VARCHAR"}
_SPARK = {"int": "bigint", "timestamp": "timestamp", "string": "string"}

Value = int | str | datetime | None


def value(cell: str) -> Value:
    """A cell as a value; an empty one is NULL.

    >>> value("7"), value(""), value("2026-03-02 09:00").isoformat()
    (7, None, '2026-03-02T09:00:00+00:00')
    """
    if not cell:
        return None
    if re.fullmatch(r"-?\d+", cell):
        return int(cell)
    if _INSTANT.fullmatch(cell):
        return instant(cell)
    return cell


def instant(text: str) -> datetime:
    """``2026-03-02`` or ``2026-03-02 09:00`` in UTC."""
    return datetime.fromisoformat(text.strip()).replace(tzinfo=timezone.utc)


def show(found: object) -> str:
    """A value as a page writes it.

    >>> show(instant("2026-03-02 09:00:00.000001")), show(instant("2026-03-02")), show(None)
    ('2026-03-02 09:00:00.000001', '2026-03-02 00:00', '')
    """
    if found is None:
        return ""
    if isinstance(found, datetime):
        text = found.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
        return text.removesuffix(":00.000000").removesuffix(".000000")
    return str(found)


@dataclass(frozen=True)
class Run:
    """A run that begins at ``clock`` and goes up to ``t``, which is ``lag`` earlier."""

    clock: datetime
    t: datetime


@dataclass(frozen=True)
class Data:
    """The rows of one source on a page."""

    name: str
    arrival: str | None
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    readable: tuple[datetime | None, ...]

    @classmethod
    def read(cls, said: str, cells: Sequence[Sequence[str]]) -> Data:
        """``said`` is the name, and ``static`` or the arrival column, which is ts unless said."""
        name, _, arrival = said.partition(" ")
        arrival = arrival.strip() or "ts"
        head, *body = cells
        shown = [i for i, column in enumerate(head) if column != READABLE]
        rows = [[value(cell) for cell in row] for row in body]
        late = head.index(READABLE) if READABLE in head else None
        readable = [None if late is None else row[late] for row in rows]
        assert all(r is None or isinstance(r, datetime) for r in readable)
        return cls(
            name,
            None if arrival == "static" else arrival,
            tuple(head[i] for i in shown),
            tuple(_kind([row[i] for row in rows]) for i in shown),
            tuple(tuple(row[i] for i in shown) for row in rows),
            tuple(readable),  # type: ignore[arg-type]
        )

    @property
    def source(self) -> Source:
        """What the rewriting has to know of it."""
        types = [_SPARK[kind] for kind in self.types]
        columns = tuple(Column(n, t) for n, t in zip(self.columns, types, strict=True))
        return Source(self.name, columns, self.arrival)

    def fill(self, database: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> Scan:
        """Make its table, with each row's effective arrival under these runs; how to read it."""
        kinds = [f'"{n}" {_SQL[t]}' for n, t in zip(self.columns, self.types, strict=True)]
        hidden = ["_readable TIMESTAMPTZ", "_arr TIMESTAMPTZ", "_rid INTEGER"]
        table = '"data_' + self.name.replace(".", "_") + '"'
        database.execute(f"CREATE OR REPLACE TABLE {table} ({', '.join(kinds + hidden)})")
        marks = ", ".join("?" for _ in [*self.columns, *hidden])
        late = False
        for number, (row, readable) in enumerate(zip(self.rows, self.readable, strict=True)):
            ts = None if self.arrival is None else row[self.columns.index(self.arrival)]
            assert ts is None or isinstance(ts, datetime)
            arrived = _effective(ts, readable, runs)
            late = late or arrived != ts
            database.execute(
                f"INSERT INTO {table} VALUES ({marks})", [*row, readable, arrived, number]
            )
        return Scan(table, None if self.arrival is None else "_arr", "_rid", late)

    def as_of(self, scan: Scan, run: Run) -> Scan:
        """The same table as this run can read it."""
        if all(r is None for r in self.readable):
            return scan
        there = f"_readable IS NULL OR _readable <= TIMESTAMPTZ '{run.clock.isoformat()}'"
        text = f"(SELECT * FROM {scan.relation} WHERE {there})"
        return Scan(text, scan.arrival, scan.row_id, scan.late)


def _effective(
    ts: datetime | None, readable: datetime | None, runs: Sequence[Run]
) -> datetime | None:
    """ts, or for a late row the first instant after the last run that missed it."""
    if ts is None or readable is None:
        return ts
    missed = [run.t for run in runs if run.clock < readable]
    return max(ts, missed[-1] + TICK) if missed else ts


def _kind(values: Sequence[Value]) -> str:
    there = [v for v in values if v is not None]
    if there and all(isinstance(v, int) for v in there):
        return "int"
    if there and all(isinstance(v, datetime) for v in there):
        return "timestamp"
    return "string"
