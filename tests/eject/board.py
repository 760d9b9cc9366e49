"""One small board, its queries and its life in four windows: the same for every engine."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tapestry.cli.eject_files import Ejected, eject_files
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.sql import Catalog, Column, Source

EXPECTED = Path(__file__).parent / "expected.json"
"""What the adapter's tables hold after the last window; test_spark.py compares and can write it."""

MESSAGES = (
    Column("id", "int"),
    Column("parent", "int"),
    Column("author", "string"),
    Column("due", "timestamp"),
    Column("ts", "timestamp"),
)
AUTHORS = (Column("author", "string"), Column("level", "int"))

M = "{{ source('board', 'messages') }}"
MODELS = {
    "recent": f"select m.id, a.level from {M} m left join {{{{ source('board', 'authors') }}}} a"
    " on a.author = m.author where now() < m.ts + interval 2 days",
    "unanswered": f"select m.id, m.author from {M} m where now() >= m.ts + interval 1 day"
    f" and not exists (select 1 from {M} r where r.parent = m.id)",
    "replies": f"select m.id, r.id as reply from {M} m join {M} r on r.parent = m.id",
    "answered": f"select m.id from {M} m where exists (select 1 from {M} r where r.parent = m.id)",
    "quiet": f"select m.id from {M} m where not exists (select 1 from {M} r"
    " where r.parent = m.id and now() < r.ts + interval 12 hours) and m.due < current_date()",
    "writers": f"select distinct author from {M}",
    "starters": f"select author from {M} where parent is null"
    f" except select author from {M} where parent is not null",
    "reminders": f"select id, author from {M} where due = now() or author = '{{{{ '{{%' }}}} x'",
    "by_the_clock": f"select id from {M} where unix_timestamp(now()) - unix_timestamp(ts) >= 3600"
    " and date_trunc('HOUR', now()) > ts and datediff(now(), due) >= 1",
    "follow_up": "select u.id from {{ ref('unanswered') }} u"
    " where now() > u._matched_at + interval 12 hours",
}
WINDOWS = (
    "2026-01-02 00:00:00",
    "2026-01-03 12:00:00",
    "2026-01-03 12:00:00.000001",
    "2026-01-06 00:00:00",
)
BATCHES: tuple[tuple[tuple[Any, ...], ...], ...] = (
    (
        (1, None, "ann", "2026-01-03 00:00:00", "2026-01-01 06:00:00"),
        (2, 1, "bob", None, "2026-01-02 00:00:00"),
        (2, 1, "bob", None, "2026-01-02 00:00:00"),
        (6, 4, "bob", "2026-01-04 00:00:00", None),
        (9, None, None, "2026-01-01 23:00:00", "2026-01-01 06:00:00"),
        (10, None, "eva", "2026-01-03 12:00:00", "2026-01-03 12:00:00"),
    ),
    (
        (3, 1, "ann", "2026-01-02 12:00:00", "2026-01-02 18:00:00"),
        (4, 2, None, "2026-01-05 00:00:00", "2026-01-03 00:00:00"),
        (5, 9, "cid", "2026-01-03 06:00:00", "2026-01-03 12:00:00"),
        (12, None, "{% x", "2026-01-01 00:00:00", "2026-01-02 00:00:00.000001"),
    ),
    ((11, 10, "ann", "2026-01-03 12:00:00.000001", "2026-01-03 12:00:00.000001"),),
    (
        (7, None, "dan", "2026-01-01 00:00:00", "2026-01-04 00:00:00"),
        (8, 7, "ann", "2026-01-05 00:00:00", "2026-01-04 12:00:00"),
        (13, 12, "dan", "2026-01-05 18:30:00", "2026-01-06 00:00:00"),
    ),
)
WRITERS = (("ann", 1), ("bob", 2), (None, 3), ("{% x", 4))

GRAPH = {
    "sources": {
        name: {
            "source_name": "board",
            "name": name,
            "identifier": name,
            "schema": "board",
            "relation_name": f"board.{name}",
        }
        for name in ("messages", "authors")
    },
    "nodes": {
        name: {"name": name, "resource_type": "model", "relation_name": f"board.{name}"}
        for name in MODELS
    },
}
ARRIVALS = {"board.messages": "ts", "board.authors": None, "board.unanswered": "_matched_at"}


def compiled(name: str) -> str:
    """A model's text as dbt compiles it."""
    text = re.sub(r"\{\{ (?:source\('board', |ref\()'(\w+)'\) \}\}", r"board.\1", MODELS[name])
    return text.replace("{{ '{%' }}", "{%")


def ejected_files(dialect: str) -> dict[str, str]:
    """The files that `tapestry eject` writes, from a catalog written by hand: no Spark."""
    matched = (Column("id", "int"), Column("author", "string"), Column("_matched_at", "timestamp"))
    columns = {"messages": MESSAGES, "authors": AUTHORS, "unanswered": matched}
    ejected = []
    for name in sorted(MODELS):
        sql = compiled(name)
        read = [table for table in columns if re.search(rf"board\.{table}\b", sql)]
        relations = Relations(
            Catalog(
                {
                    f"board.{t}": Source(f"board.{t}", columns[t], ARRIVALS[f"board.{t}"])
                    for t in read
                }
            ),
            {
                f"board.{t}": Pinned(DeltaSource(f"board.{t}", columns[t], "", ""), Pin("", 0))
                for t in read
            },
        )
        model = Model(
            name, f"board.{name}", sql, parse_config("continuous", {}), file=f"models/{name}.sql"
        )
        ejected.append(Ejected(model, relations, {"config": {}}))
    return eject_files(ejected, GRAPH, dialect, f"ejected_{dialect}")


def literal(value: Any) -> str:
    """A value of a row as SQL."""
    if value is None:
        return "NULL"
    text = str(value)
    if isinstance(value, int):
        return text
    return f"'{text}'"


def rows_sql(rows: Iterable[tuple[Any, ...]], instant: str) -> str:
    """VALUES of messages; ``instant`` is the engine's type of an instant in UTC."""
    items = []
    for *plain, due, ts in rows:
        instants = [
            f"CAST({literal(at if at is None else at + '+00:00')} AS {instant})" for at in (due, ts)
        ]
        items.append(f"({', '.join([*map(literal, plain), *instants])})")
    return ", ".join(items)


def expected() -> dict[str, Counter[tuple[str, ...]]]:
    """model -> the adapter's rows after the last window, as texts."""
    held = json.loads(EXPECTED.read_text())
    return {name: Counter(tuple(row) for row in rows) for name, rows in held.items()}


def as_texts(rows: Iterable[tuple[Any, ...]]) -> Counter[tuple[str, ...]]:
    """Rows of values and, last, microseconds since 1970 as texts that every engine agrees on."""
    return Counter(tuple("NULL" if v is None else str(v) for v in row) for row in rows)


def columns_of(name: str) -> str:
    """The select list of a model's table, first instants as numbers."""
    return {
        "recent": "id, level",
        "unanswered": "id, author",
        "replies": "id, reply",
        "writers": "author",
        "starters": "author",
        "reminders": "id, author",
    }.get(name, "id")
