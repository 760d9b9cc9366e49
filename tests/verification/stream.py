"""A model that runs window after window over growing tables, in DuckDB: what the mutants spoil."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite
from tapestry.sql.facts import keys
from tapestry.verification.check import Check
from tapestry.verification.chosen_rows import RunRows
from tapestry.verification.definition import Definition

BASE = datetime(2026, 1, 5, tzinfo=timezone.utc)
STEP = timedelta(hours=6)
WINDOWS = 40
TYPES = {
    "id": "int",
    "k": "int",
    "v": "int",
    "parent": "int",
    "due": "timestamp",
    "ts": "timestamp",
}
TABLES = {"m": ("id", "k", "v", "due", "ts"), "r": ("id", "parent", "v", "due", "ts")}
CATALOG = Catalog(
    {
        name: Source(name, tuple(Column(c, TYPES[c]) for c in columns), "ts")
        for name, columns in TABLES.items()
    }
)
QUERIES = {
    "two bounds": "select m.id, m.v from m where (now() >= m.ts + interval 12 hours and m.k = 1)"
    " or (now() >= m.due and m.k = 2)",
    "a join": "select m.id, r.v from m join r on r.parent = m.id"
    " where now() < m.ts + interval 2 days and r.due <= now()",
    "an anti-join": "select m.id, m.k from m where now() > m.ts + interval 1 day"
    " and not exists (select 1 from r where r.parent = m.id)",
    "gaps": "select m.id from m where m.k = 1 and not exists"
    " (select 1 from r where r.parent = m.id and now() < r.ts + interval 8 hours)",
    "touch and go": "select m.id, m.v from m where now() < m.ts + interval 3 days"
    " and exists (select 1 from r where r.parent = m.id and r.due > now())",
    "distinct": "select distinct m.k, m.v from m where now() >= m.due",
    "except": "select m.v as a from m where now() > m.ts + interval 6 hours"
    " except select r.v from r where now() < r.ts + interval 1 day",
    "not in": "select m.id, m.due from m where m.k not in (select r.v from r where now() < r.due)",
    "a left join": "select m.id, r.v from m left join r on r.parent = m.id"
    " and now() < r.ts + interval 1 day where m.k < 3",
    "a union": "select m.id from m where now() between m.ts + interval 6 hours and m.due"
    " union all select r.id from r where r.v = 1",
}
Mutate = Callable[[Rewriting, Window, dict[str, Scan]], str]


@dataclass(frozen=True)
class Run:
    """One run whose rows stand in ``staged``, not published yet."""

    n: int
    window: Window
    check: Check
    rows: RunRows

    def again(self) -> Check:
        """A check that has found nothing yet."""
        return Check(self.check.definition, self.rows, self.check.ask, self.check.published)


def world(seed: int = 7) -> duckdb.DuckDBPyConnection:
    """The tables with all that will ever arrive: NULLs, twins, ties and late rows in them."""
    rng = random.Random(seed)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for name, columns in TABLES.items():
        listed = ", ".join(f"{column} {TYPES[column]}" for column in columns)
        connection.execute(f"CREATE TABLE {name} ({listed}, _arr TIMESTAMP, _rid INTEGER)")
        rows = list(_rows(rng, name))
        connection.executemany(
            f"INSERT INTO {name} VALUES ({', '.join('?' * (len(columns) + 2))})",
            [(*row, number) for number, row in enumerate(rows, start=1)],
        )
    return connection


def _rows(rng: random.Random, name: str) -> Iterator[tuple[Any, ...]]:
    row: tuple[Any, ...] = ()
    for number in range(WINDOWS * 6):
        ts = _naive(BASE + STEP * (number // 6)) + timedelta(minutes=30 * rng.randint(1, 12))
        arrival = ts + STEP * rng.randint(1, 3) if rng.random() < 0.12 else ts
        if not row or rng.random() > 0.08:
            due = ts + timedelta(hours=rng.choice((-12, 0, 3, 12, 30)))
            first = number if name == "m" else rng.choice((1, 1, 2, 3, None))
            second = rng.randint(1, 3) if name == "m" else max(number - rng.randint(0, 12), 0)
            row = (first, second, rng.choice((1, 2, 3, 4, None)), due, ts)
            if rng.random() < 0.08:
                row = (*row[:3], None, ts)
        else:
            arrival = max(row[-1], arrival if rng.random() < 0.5 else row[-1])
        yield (*row, arrival)


def _naive(s: datetime) -> datetime:
    return s.replace(tzinfo=None)


def runs(
    connection: duckdb.DuckDBPyConnection, sql: str, mutate: Mutate, windows: int = WINDOWS
) -> Iterator[Run]:
    """Run after run; what the mutant delivers is published, whatever the check finds."""
    rewriting = rewrite(sql, CATALOG)

    def ask(text: str) -> list[tuple[Any, ...]]:
        return connection.execute(text).fetchall()

    connection.execute("DROP TABLE IF EXISTS published")
    tau: datetime | None = None
    for n in range(1, windows + 1):
        t = BASE + STEP * n
        scans = {name: scan(name, t) for name in rewriting.sources}
        window = Window(tau, t)
        text = mutate(rewriting, window, scans)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE staged AS {text}")
        connection.execute("CREATE TABLE IF NOT EXISTS published AS FROM staged WHERE false")
        rows = RunRows("staged", BASE, tau, t)
        definition = Definition.read(sql, CATALOG, scans, "duckdb")
        yield Run(n, window, Check(definition, rows, ask, lambda: "published"), rows)
        connection.execute("INSERT INTO published FROM staged")
        tau = t


def scan(name: str, t: datetime) -> Scan:
    """A table as it is at t."""
    relation = f"(SELECT * FROM {name} WHERE _arr <= '{_naive(t)}')"
    return Scan(relation, "_arr", keys.stamped("_rid", "epoch_us(ts)"), late=True)


def right(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
    """No mutant."""
    return rewriting.incremental(window, scans, dialect="duckdb", keyed=True)
