"""Maintained queries of the pages: kept by what changed from one table of rows to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import duckdb
from tests.docs.pages import Part
from tests.docs.tables import Data, instant, show, value

from tapestry.runs.kinds.maintained.how_kept import how_kept, refuse
from tapestry.sql import Catalog, Scan, static_answer
from tapestry.sql.operators.compare_versions import KeptQuery, compare
from tapestry.sql.operators.steady import unsteady_places
from tapestry.sql.operators.texts import Between, SourceVersions

VERSIONS = ("old", "new")


@dataclass
class KeptTable:
    """The table of one query: its rows after the last ``answer at``.

    how
        The query as it is kept by keys, or why it is not.
    """

    text: str
    how: KeptQuery | None
    columns: tuple[str, ...]
    data: Mapping[str, Data] = field(default_factory=dict)
    t: datetime | None = None
    rows: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    @classmethod
    def of(cls, text: str, catalog: Catalog, refresh: str) -> KeptTable:
        """Read a query; AssertionError where it says ``incremental`` and is not."""
        read = refuse(text, catalog)
        kept = how_kept(read, unsteady_places(read.tree, read.catalog) is None, {})
        how = kept.keyed
        assert refresh != "incremental" or how is not None, str(kept.whole)
        return cls(text, how, tuple(read.columns))

    def check(self, data: Mapping[str, Data], part: Part) -> None:
        """The page's table is the answer, and what changed since the last one leads there."""
        t = instant(part.said)
        head, *body = part.cells
        assert head == self.columns, f"columns are {self.columns}"
        database = duckdb.connect()
        database.execute("SET TimeZone = 'UTC'")
        now = self._answer(database, data, t)
        wanted = Counter(tuple(show(value(cell)) for cell in row) for row in body)
        found = Counter(tuple(map(show, row)) for row in now.elements())
        lines = "\n".join("| " + " | ".join(row) + " |" for row in sorted(found.elements()))
        assert found == wanted, f"the answer is\n{lines}"
        if self.t is not None and self.how is not None:
            kept = self._kept(database, self.how, data, (self.t, t))
            assert kept == now, f"kept by what changed it would be {kept}"
        self.data, self.t, self.rows = dict(data), t, now

    def _answer(
        self, database: duckdb.DuckDBPyConnection, data: Mapping[str, Data], t: datetime
    ) -> Counter[tuple[Any, ...]]:
        catalog = Catalog({name: one.source for name, one in data.items()})
        scans = {
            name: Scan(_filled(database, one, "new"), one.arrival, "_rid")
            for name, one in data.items()
        }
        text = static_answer(self.text, catalog, t, scans, dialect="duckdb")
        return Counter(database.execute(text).fetchall())

    def _kept(
        self,
        database: duckdb.DuckDBPyConnection,
        how: KeptQuery,
        data: Mapping[str, Data],
        instants: tuple[datetime, datetime],
    ) -> Counter[tuple[Any, ...]]:
        versions = {}
        for name in how.sources:
            texts = [
                _rows(database, tables[name], version, at)
                for tables, version, at in zip((self.data, data), VERSIONS, instants, strict=True)
            ]
            apart = [f"{one} EXCEPT ALL {other}" for one, other in (texts, reversed(texts))]
            there = [text if database.execute(text).fetchall() else "" for text in apart]
            versions[name] = SourceVersions(*texts, *there)
        found = self.rows.copy()
        for arm in how.arms:
            made = compare(how, arm, Between(instants, versions), dialect="duckdb")
            old, new = (
                Counter(row[: len(self.columns)] for row in database.execute(sql).fetchall())
                for sql in (made.old, made.new)
            )
            assert not old - found, f"not in the table: {old - found}"
            found = found - old + new
        return found


def _filled(database: duckdb.DuckDBPyConnection, data: Data, version: str) -> str:
    """Its table, under a name of the version."""
    table = f'"{version}_{data.name}"'
    database.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {data.fill(database, []).relation}")
    return table


def _rows(database: duckdb.DuckDBPyConnection, data: Data, version: str, t: datetime) -> str:
    """A SELECT of the rows that have arrived."""
    listed = ", ".join(f'"{name}"' for name in data.columns)
    arrived = f" WHERE {data.arrival} <= TIMESTAMPTZ '{t.isoformat()}'" if data.arrival else ""
    return f"SELECT {listed} FROM {_filled(database, data, version)}{arrived}"
