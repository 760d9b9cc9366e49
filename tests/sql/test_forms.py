"""Forms of SQL beside SELECT, JOIN and WHERE: each run's rows are what the definition says.

Each query is run in DuckDB in several windows and in one, beside the keyed answers of the
verification, which reads the text by itself, and beside the plain static answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from tests.sql.database import in_utc
from tests.sql.test_pairs import END, START

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite, static_answer
from tapestry.verification.definition import Definition

ENDS = (None, START, START + timedelta(hours=30), START + timedelta(days=3), END)
BEGIN = START + timedelta(hours=6)  # the earliest arrival
INSTANTS = [
    START + timedelta(hours=6 * n, microseconds=tick) for n in range(24) for tick in (-1, 0, 1)
]
COLUMNS = {
    "m": ("id int", "k int", "tags array<string>", "ts timestamp"),
    "r": ("rid int", "k int", "tag string", "ts timestamp"),
    "x": ("k int", "name string"),
}
ROWS = {
    "m": "(1, 1, ['a', 'b', 'a'], '2026-01-01 06:00:00'), (1, 1, ['a', 'b', 'a'],"
    " '2026-01-01 06:00:00'), (2, NULL, [], '2026-01-02 00:00:00'), (3, 2, NULL,"
    " '2026-01-02 18:00:00'), (4, 2, [NULL, 'c'], '2026-01-03 00:00:00'), (5, 1, ['a'], NULL)",
    "r": "(1, 1, 'a', '2026-01-02 00:00:00'), (2, 2, 'c', '2026-01-01 06:00:00'),"
    " (3, NULL, 'b', '2026-01-04 12:00:00'), (4, 1, NULL, '2026-01-03 00:00:00')",
    "x": "(1, 'one'), (2, 'two'), (2, 'two'), (NULL, NULL)",
}
TYPES = {"int": "INTEGER", "string": "VARCHAR", "timestamp": "TIMESTAMPTZ"}
TYPES["array<string>"] = "VARCHAR[]"


def _source(name: str) -> Source:
    columns = tuple(Column(*column.split(" ", 1)) for column in COLUMNS[name])
    return Source(name, columns, None if name == "x" else "ts")


CATALOG = Catalog({name: _source(name) for name in COLUMNS})
SCANS = {name: Scan(f"t_{name}", None if name == "x" else "ts", "rowid") for name in COLUMNS}


def filled() -> duckdb.DuckDBPyConnection:
    """A database with the tables of the queries."""
    database = in_utc()
    for name, columns in COLUMNS.items():
        typed = ", ".join(f"{c.split()[0]} {TYPES[c.split()[1]]}" for c in columns)
        database.execute(f"CREATE TABLE t_{name} ({typed})")
        database.execute(f"INSERT INTO t_{name} VALUES {ROWS[name]}")
    return database


def agrees(sql: str, ends: Sequence[datetime | None] = ENDS) -> None:
    """The runs of a query give its answers, each with its first instant."""
    database, rewriting = filled(), rewrite(sql, CATALOG)
    scans = {name: SCANS[name] for name in rewriting.sources}
    rows: list[tuple[Any, ...]] = []
    for tau, t in pairwise(ends):
        assert t is not None
        rows += _fetched(database, rewriting.incremental(Window(tau, t), scans, dialect="duckdb"))
    whole = rewriting.incremental(Window(None, END), scans, dialect="duckdb", keyed=True)
    keyed = _fetched(database, whole)
    assert Counter(rows) == Counter((*row[:-2], row[-1]) for row in keyed), "whatever the windows"
    definition = Definition.read(sql, CATALOG, scans, "duckdb")
    instants = [one for one in INSTANTS if BEGIN <= one <= END]
    ctes = [definition.instants(instants), ("answers", definition.answers())]
    names = ", ".join(f'"{name}"' for name in definition.columns)
    firsts = f"SELECT {names}, _key, MIN(_s) FROM answers GROUP BY {names}, _key"
    assert Counter(_fetched(database, definition.statement(ctes, firsts))) == Counter(keyed)
    threaded = f"SELECT _s, {names} FROM answers"
    found = Counter(_fetched(database, definition.statement(ctes, threaded)))
    for instant in instants:
        here = static_answer(sql, CATALOG, instant, scans, "duckdb")
        plain = Counter(_fetched(database, f"SELECT {names} FROM ({here})"))
        mine = Counter({row[1:]: n for row, n in found.items() if row[0] == instant})
        assert mine == plain, instant
    assert rows


def _fetched(database: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    def plain(cell: Any) -> Any:
        return tuple(cell) if isinstance(cell, list) else cell

    return [tuple(map(plain, row)) for row in database.execute(sql).fetchall()]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from m natural join x",
        "select rid, name from r natural left join x",
        "select * from (select k, id from m) q natural full join x",
        "select id from m where exists (select 1 from r natural join x where r.rid = m.id)",
        "select distinct name from (select * from m) natural join x sort by name",
        "with c as (select k, lower(name) as label from x) select * from r natural join c cluster by k",
        "select id from m distribute by k sort by id",
    ],
)
def test_a_natural_join_and_an_order_of_partitions(sql: str) -> None:
    agrees(sql)
