"""The definition, by brute force: Q(s) at every instant that matters, first instants, the union."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import duckdb

from judge.data import MICRO, OFF_GRID, STEP, Data
from judge.render import Oracle
from judge.schema import ARRIVAL, BASE, DUCK_TYPES, TABLES
from judge.tree import Query, offsets_of, tables_of

Answers = Counter[tuple[Any, ...]]  # output row and first instant -> how often
FIRST, LAST = -8, 40  # the grid: steps before and after BASE


def literal(moment: datetime) -> str:
    """A timestamp as DuckDB text."""
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'"


def connect() -> duckdb.DuckDBPyConnection:
    """A database in UTC for one case after another."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE TABLE instants (s TIMESTAMP)")
    for table, columns in TABLES.items():
        names = ", ".join(f"{name} {DUCK_TYPES[type_]}" for name, type_ in columns.items())
        connection.execute(
            f"CREATE TABLE {table} ({names}, _arr TIMESTAMP, _rid INTEGER, _ended TIMESTAMP)"
        )
        seen = _seen(table, "i.s")
        connection.execute(
            f"CREATE VIEW all_{table} AS SELECT i.s, t.* FROM {table} t JOIN instants i ON {seen}"
        )
        seen = _seen(table, "moment")
        connection.execute(
            f"CREATE MACRO seen_{table}(moment) AS TABLE SELECT * FROM {table} WHERE {seen}"
        )
    return connection


def _seen(table: str, moment: str) -> str:
    """When a row is visible."""
    if ARRIVAL[table] is None:
        return "TRUE"
    return f"_arr <= {moment} AND (_ended IS NULL OR {moment} < _ended)"


def load(connection: duckdb.DuckDBPyConnection, data: Data) -> None:
    """Replace the rows of every table."""
    for table, rows in data.rows.items():
        connection.execute(f"DELETE FROM {table}")
        if rows:
            values = ", ".join(
                "(" + ", ".join(map(written, (*row, end))) + ")"
                for row, end in zip(rows, data.ends(table), strict=True)
            )
            connection.execute(f"INSERT INTO {table} VALUES {values}")


def written(cell: Any) -> str:
    """A cell as SQL of either engine."""
    if cell is None:
        return "NULL"
    if isinstance(cell, datetime):
        return literal(cell)
    return str(cell) if isinstance(cell, int) else f"'{cell}'"


def beginning(query: Query, data: Data, begin: datetime | None) -> datetime | None:
    """When time begins for a query: at `begin`, or with its sources' first row; None: never."""
    if begin is not None:
        return begin
    arrivals = [
        moment for table in tables_of(query) if ARRIVAL[table] for moment in data.arrivals(table)
    ]
    return min(arrivals, default=None)


def instants(query: Query, data: Data, start: datetime, end: datetime) -> list[datetime]:
    """Every instant in [start, end] at which an answer could change."""
    steps = {timedelta(microseconds=offset) for offset in offsets_of(query)} | {timedelta(0)}
    if data.off_grid:
        steps = {step + off for step in steps for off in (timedelta(0), OFF_GRID, MICRO)}
    grid = (BASE + STEP * n for n in range(FIRST, LAST))
    every = {
        moment + step + tick for moment in grid for step in steps for tick in (timedelta(0), MICRO)
    }
    every |= set(data.ended.values())
    return sorted({start, *(moment for moment in every if start <= moment <= end)})


@dataclass(frozen=True)
class Definition:
    """What Q_M(t) is for one query over the rows that are loaded."""

    query: Query
    connection: duckdb.DuckDBPyConnection

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that an answer consists of."""
        audits = self.query.audits
        return tuple(name for name in self.query.names if name not in audits)

    def answers(self, moments: Iterable[datetime]) -> Answers:
        """The union of Q(s) over these instants, each answer with its first instant."""
        sql, count = Oracle().text(self.query)
        audits, values = self.query.audits, ", ".join(self.values)
        names = ", ".join(
            f"arg_min_null({name}, s)" if name in audits else name for name in self.query.names
        )
        ids = ", ".join(f"i{n}" for n in range(1, count + 1))
        self._between(moments)
        rows = self.connection.execute(
            f"SELECT {names}, min(s) FROM ({sql}) GROUP BY {ids}, {values}"
        ).fetchall()
        return Counter(rows)

    def at_each(self, moments: Iterable[datetime]) -> dict[datetime, Answers]:
        """Q(s) at each of these instants, from the one threaded query, without audit columns."""
        sql, _ = Oracle().text(self.query)
        self._between(moments)
        found: dict[datetime, Answers] = {}
        for moment, *row in self.connection.execute(
            f"SELECT s, {', '.join(self.values)} FROM ({sql})"
        ).fetchall():
            found.setdefault(moment, Counter())[tuple(row)] += 1
        return found

    def at(self, moment: datetime) -> Answers:
        """Q(s) at one instant, from the plain query over the visible rows; without them, too."""
        sql, _ = Oracle(literal(moment)).text(self.query)
        return Counter(
            self.connection.execute(f"SELECT {', '.join(self.values)} FROM ({sql})").fetchall()
        )

    def _between(self, moments: Iterable[datetime]) -> None:
        values = ", ".join(f"({literal(moment)})" for moment in moments)
        self.connection.execute("DELETE FROM instants")
        self.connection.execute(f"INSERT INTO instants VALUES {values}")
