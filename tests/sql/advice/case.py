"""A query that is refused, and the ways out that the refusal's hint names, each tried.

Every way is rewritten, and where ``meant`` says so executed in DuckDB: a run over all of time, and
what the author then does with its rows, give the rows that the refused query was meant to give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from typing import Any

import duckdb
import sqlglot
from tests.sql.database import in_utc

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, View, Window, rewrite, set_clock
from tapestry.sql.work import of_strangers

END = datetime(2026, 2, 1, tzinfo=timezone.utc)
REFUSED = ""
"""The refused query itself says which rows are meant: DuckDB can execute it."""
UNASKED = "unasked"
"""Nothing is executed: no query over these tables says what was meant."""
_TYPES = {
    "INTEGER": "int",
    "VARCHAR": "string",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "STRUCT(a INTEGER, b INTEGER)": "struct<a:int,b:int>",
    "INTEGER[]": "array<int>",
    "TIMESTAMP WITH TIME ZONE[]": "array<timestamp>",
}
TABLES: Mapping[str, str] = {
    "messages": "SELECT id, parent, author, {'a': id, 'b': parent} AS pair, [id, parent] AS list,"
    " [ts::TIMESTAMPTZ] AS times, due::TIMESTAMPTZ AS due, d::DATE AS d, ts::TIMESTAMPTZ AS ts"
    " FROM (VALUES"
    " (1, NULL, 'ann', '2026-01-03 00:00:00', '2026-01-03', '2026-01-01 06:00:00'),"
    " (2, 1, 'bob', NULL, NULL, '2026-01-02 00:00:00'),"
    " (3, 1, 'ann', '2026-01-02 12:00:00', '2026-01-01', '2026-01-02 18:00:00'),"
    " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-05', '2026-01-03 00:00:00'),"
    " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-05', '2026-01-03 00:00:00'),"
    " (5, 9, 'cid', '2026-03-03 06:00:00', '2026-03-03', '2026-01-03 06:00:00'),"
    " (6, 4, 'bob', '2026-01-04 00:00:00', '2026-01-04', '2026-01-03 06:00:00')"
    ") v(id, parent, author, due, d, ts)",
    "replies": "SELECT id, level, ts::TIMESTAMPTZ AS ts FROM (VALUES"
    " (1, 1, '2026-01-04 06:00:00'), (4, 2, '2026-01-01 00:00:00'), (4, 3, '2026-01-05 00:00:00')"
    ") v(id, level, ts)",
    "old": "SELECT id, since::TIMESTAMPTZ AS since FROM (VALUES (1, '2025-01-01 00:00:00'),"
    " (4, '2025-01-02 00:00:00'), (4, '2025-01-03 00:00:00'), (NULL, NULL)) v(id, since)",
}
"""The tables of all cases, as DuckDB makes them: a column ts is the arrival."""


@dataclass(frozen=True)
class Way:
    """What the author writes instead, as the hint says."""

    query: str
    """The query of the model; of several models, where a hint says so, one of them."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Tables upstream, each with the DuckDB query that fills it."""
    views: Mapping[str, str] = field(default_factory=dict)
    after: str = ""
    """What reads the model's rows (``model``) downstream."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Continuous models before this one, in order."""
    assume: tuple[str, ...] = ()
    zone: str = "UTC"
    functions: frozenset[str] = frozenset()
    columns: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    """Sources that are only in the catalog, with an arrival ts where they have that column."""


@dataclass(frozen=True)
class Case:
    """A refused query, and a way out for each thing that its hint says."""

    code: str
    refused: Way
    ways: tuple[Way, ...]
    meant: str = REFUSED


def case(code: str, refused: str | Way, *ways: str | Way, meant: str = REFUSED) -> Case:
    """A case, its queries as texts where nothing but the text matters."""
    every = [way if isinstance(way, Way) else Way(way) for way in (refused, *ways)]
    return Case(code, every[0], tuple(every[1:]), meant)


def filled() -> duckdb.DuckDBPyConnection:
    """A database with the tables of the cases."""
    connection = in_utc()
    for name, query in TABLES.items():
        connection.execute(f"CREATE TABLE {name} AS {query}")
    return connection


def source(database: duckdb.DuckDBPyConnection, name: str, arrival: str = "ts") -> Source:
    """A table as the catalog has it; without a column ``arrival`` it is static."""
    columns = tuple(
        Column(row[0], _TYPES.get(row[1], row[1].lower()))
        for row in database.execute(f"DESCRIBE {name}").fetchall()
    )
    return Source(name, columns, arrival if arrival in {c.name for c in columns} else None)


@cache
def _tables() -> Mapping[str, Source]:
    database = filled()
    return {name: source(database, name) for name in TABLES}


def catalog_of(way: Way, database: duckdb.DuckDBPyConnection) -> Catalog:
    """Everything that a way may read, its tables upstream made."""
    for name, query in way.tables.items():
        database.execute(f"CREATE OR REPLACE TABLE {name} AS {query}")
    sources = {**_tables(), **{name: source(database, name) for name in way.tables}}
    models = {name: source(database, name, "_matched_at") for name in way.models}
    views = {name: View(name, query) for name, query in way.views.items()}
    listed = {
        name: Source(name, columns, "ts" if any(c.name == "ts" for c in columns) else None)
        for name, columns in way.columns.items()
    }
    return Catalog({**sources, **models, **listed, **views}, way.zone, way.functions)


def refusal_of(way: Way) -> Refusal | None:
    """Why a way is refused, if it is; in the time that a text of strangers gets."""
    try:
        with of_strangers():
            accepted(way)
    except Refusal as refusal:
        return refusal
    return None


def accepted(way: Way, database: duckdb.DuckDBPyConnection | None = None) -> Rewriting:
    """The rewriting of a way, the models before it run; raises Refusal."""
    if database is None:
        database = filled() if way.models or way.tables else duckdb.connect()
    ready: dict[str, str] = {}
    for name, query in way.models.items():
        catalog = catalog_of(Way(query, way.tables, way.views, models=ready), database)
        database.execute(f"CREATE TABLE {name} AS {_run(rewrite(query, catalog), catalog)}")
        ready[name] = query
    return rewrite(way.query, catalog_of(way, database), assume=way.assume)


def _run(rewriting: Rewriting, catalog: Catalog) -> str:
    scans = {}
    for name in rewriting.sources:
        known = catalog.relations[name]
        assert isinstance(known, Source)
        scans[name] = Scan(f"main.{name}", known.arrival, "rowid")
    return rewriting.incremental(Window(None, END), scans, dialect="duckdb")


def rows_of(way: Way) -> Counter[tuple[Any, ...]]:
    """The rows that a way gives in the end."""
    database = filled()
    rewriting = accepted(way, database)
    text = _run(rewriting, catalog_of(way, database))
    columns = ", ".join(f'"{name}"' for name in rewriting.columns)
    database.execute(f"CREATE TABLE model AS SELECT {columns} FROM ({text})")
    return _counted(database, way.after or "SELECT * FROM model")


def meant_rows(one: Case) -> Counter[tuple[Any, ...]]:
    """The rows that the refused query was meant to give, once all of the tables is there."""
    asked = one.meant or one.refused.query
    tree = set_clock(sqlglot.parse_one(asked, dialect="spark"), END)
    return _counted(filled(), tree.sql("duckdb"))


def _counted(database: duckdb.DuckDBPyConnection, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(repr, row)) for row in database.execute(query).fetchall())
