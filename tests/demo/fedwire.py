"""The example models over transfers, and DuckDB tables for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import jinja2

from tapestry.demo.tables import TABLE_TYPES
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite
from tapestry.sql.scan import KnownAnswers

MODELS = sorted(
    path.stem for path in (Path(__file__).parents[2] / "models/transfers").glob("*.sql")
)
TRANSACTION = Source(
    "transaction",
    tuple(Column(name, kind.lower()) for name, kind in TABLE_TYPES["transaction"].items()),
    "arrived_at",
)


def text_of(model: str, relation: str) -> str:
    """A model's text over a relation."""
    folder = Path(__file__).parents[2] / "models/transfers"
    template = jinja2.Template((folder / f"{model}.sql").read_text("utf-8"))
    return template.render(source=lambda *_: relation)


def rewriting_of(model: str) -> Rewriting:
    """A model, rewritten."""
    return rewrite(text_of(model, "transaction"), Catalog({"transaction": TRANSACTION}))


def database() -> duckdb.DuckDBPyConnection:
    """A DuckDB in UTC."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    return connection


class Target:
    """The table of one model, kept by runs in DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, model: str) -> None:
        self.connection, self.rewriting = connection, rewriting_of(model)
        self.tau: datetime | None = None
        empty = text_of(model, "(select * from main.transaction where false)")
        connection.execute(
            f"create or replace table target as "
            f"select *, null::timestamptz as _matched_at from ({empty})"
        )

    def run(self, scan: Scan, t: datetime) -> list[tuple[Any, ...]]:
        """One run up to t: the rows that it added."""
        known = KnownAnswers("target") if self.rewriting.asks_known else None
        text = self.rewriting.incremental(
            Window(self.tau, t), {"transaction": scan}, dialect="duckdb", known=known
        )
        new = self.connection.execute(text).fetchall()
        if new:
            self.connection.execute(f"insert into target from ({text})")
            self.tau = t
        return new

    def rows(self) -> list[tuple[Any, ...]]:
        """All of its rows."""
        return self.connection.execute("from target").fetchall()


def bag(rows: Sequence[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows as a bag, their ``_matched_at`` left out."""
    return Counter(row[:-1] for row in rows)


def at(text: str) -> datetime:
    """An instant of UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
