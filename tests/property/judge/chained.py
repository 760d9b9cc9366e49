"""Random joins whose conditions chain typed columns that are no arrivals, and what is right.

A table has duplicates, ties, NULLs and late rows; of DOUBLE also NaN, infinities and both zeros.
The definition is asked of DuckDB: a join holds from its latest arrival on, if no row that hinders
it had arrived by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from random import Random
from typing import Any

import duckdb

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOURS = 24
ENDS = (9, 12, 15, 16, HOURS + 1)
"""The windows' ends in small steps; the first run, which measures nothing, and the last alone: one
large one."""
TYPES = {
    # type: values, and what is added to one
    "int": (range(-6, 7), ("1", "3")),
    "bigint": (range(-6, 7), ("2", "9007199254740993")),
    "decimal(15,2)": ([f"{n}.{n % 4 * 25:02d}" for n in range(-4, 8)], ("1.25", "0.5 * {}")),
    "double": (
        ("'NaN'", "'-NaN'", "'inf'", "'-inf'", "-0.0", "0.0", *(f"{n / 4}" for n in range(-8, 9))),
        ("1.25", "0.1 * {}"),
    ),
    "date": ([f"'2024-02-{day:02d}'" for day in range(20, 30)], ("2", "interval 1 month")),
    "timestamp": (
        [f"'2024-03-{day:02d} 0{day % 3}:30:00+00'" for day in range(28, 32)],
        ("interval 90 minutes", "interval 1 day"),
    ),
}
NULLS, LATE = 0.12, 0.3


def catalog_of(kind: str) -> Catalog:
    """The table, with two columns of this type."""
    columns = (("id", "int"), ("k", "int"), ("x", kind), ("y", kind), ("ts", "timestamp"))
    return Catalog({"t": Source("t", tuple(Column(*one) for one in columns), "ts")})


def scans(late: bool) -> dict[str, Scan]:
    """The table's rows, each with its arrival."""
    return {"t": Scan("t", "arr" if late else "ts", "rowid", late)}


@dataclass(frozen=True)
class Chained:
    """A query over rows, with its definition."""

    kind: str
    aliases: tuple[str, ...]
    conditions: tuple[str, ...]
    absent: tuple[str, ...]
    """Of a row of ``n`` that hinders a join; () for none."""
    values: tuple[str, ...]
    late: bool

    @property
    def sql(self) -> str:
        """As a user writes it."""
        listed = ", ".join(f"{one}.id as {one}" for one in self.aliases)
        tables = ", ".join(f"t {one}" for one in self.aliases)
        hindered = f" and not exists (select 1 from t n where {' and '.join(self.absent)})"
        where = " and ".join(self.conditions) + (hindered if self.absent else "")
        return f"select {listed} from {tables} where {where}"

    @property
    def rewriting(self) -> Rewriting:
        """Ready to be rendered."""
        return rewrite(self.sql, catalog_of(self.kind))

    def load(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the table."""
        kind = "timestamptz" if self.kind == "timestamp" else self.kind
        connection.execute(
            f"CREATE OR REPLACE TABLE t (id int, k int, x {kind}, y {kind}, ts timestamptz,"
            " arr timestamptz)"
        )
        connection.execute(f"INSERT INTO t VALUES {', '.join(self.values)}")

    def expected(self, connection: duckdb.DuckDBPyConnection) -> Counter[tuple[Any, ...]]:
        """Every answer with its first instant."""
        arrival = "arr" if self.late else "ts"
        first = f"greatest({', '.join(f'{one}.{arrival}' for one in self.aliases)})"
        there = " and ".join(f"{one}.{arrival} is not null" for one in self.aliases)
        sql = self.sql.replace(" from ", f", {first} from ", 1)
        if self.absent:
            sql = sql.removesuffix(")") + f" and n.{arrival} <= {first})"
        return Counter(connection.execute(f"{sql} and {there}").fetchall())


def chained(number: int, kind: str) -> Chained:
    """The case of this number and type: always the same."""
    random = Random(f"{kind} {number}")
    aliases = ("a", "b", "c")[: random.choice((2, 2, 3))]
    conditions = [f"{random.choice(aliases)}.x {random.choice('<>')}= {_value(random, kind)}"]
    for one, other in pairwise(aliases):
        conditions += [_chain(random, kind, one, other), f"{other}.k = {one}.k"]
    if random.random() < 0.3:
        conditions.append(f"{aliases[0]}.k < 2")
    if random.random() < 0.25:
        conditions = [f"({conditions[0]} or {_chain(random, kind, *aliases[:2])})", *conditions[1:]]
    absent: tuple[str, ...] = ()
    if random.random() < 0.3:
        around = random.choice(aliases)
        absent = (_chain(random, kind, around, "n"), f"n.k = {around}.k")
    values = tuple(_rows(random, kind))
    return Chained(kind, aliases, tuple(conditions), absent, values, random.random() < 0.5)


def _chain(random: Random, kind: str, one: str, other: str) -> str:
    column = f"{one}.{random.choice('xxy')}"
    moved = random.choice(TYPES[kind][1])
    far = moved.format(column) if "{}" in moved else f"{column} + {moved}"
    other = f"{other}.{random.choice('xxy')}"
    return random.choice(
        (
            f"{other} = {column}",
            f"{other} between {column} and {far}",
            f"({column} <= {other} and {other} <= {far})",
            f"{other} > {far}",
            f"{other} <= {far}",
            f"{other} < {column}",
        )
    )


def _value(random: Random, kind: str) -> str:
    value = random.choice(list(TYPES[kind][0]))
    return str(value) if kind in ("int", "bigint") else f"cast({value} as {kind})"


def _rows(random: Random, kind: str) -> Iterable[str]:
    rows: list[str] = []
    for number in range(random.randint(6, 26)):
        if rows and random.random() < 0.12:
            rows.append(random.choice(rows))
            continue
        cells = [
            "NULL" if random.random() < NULLS else str(random.choice(list(TYPES[kind][0])))
            for _ in range(2)
        ]
        ts = random.randint(0, HOURS)
        arr = ts + random.randint(1, 12) if random.random() < LATE else ts
        times = [f"'{BEGIN + timedelta(hours=hour)}'" for hour in (ts, arr)]
        times = ["NULL", "NULL"] if random.random() < 0.05 else times
        rows.append(f"({', '.join([str(number), str(random.randint(0, 2)), *cells, *times])})")
    return rows


def windows(steps: bool) -> list[Window]:
    """From the begin on, in small steps, or one large one after the first."""
    ends = [BEGIN + timedelta(hours=hour) for hour in (ENDS if steps else (ENDS[0], HOURS + 13))]
    if steps:
        ends.append(BEGIN + timedelta(hours=HOURS + 13))
    return [Window(tau, t) for tau, t in zip([None, *ends], ends, strict=False)]


@dataclass
class Found:
    """What came of a case: how many answers there were, and what was said of tables beside."""

    differences: str = ""
    answers: int = 0
    measured: int = 0
    none: int = 0


def judged(case: Chained, connection: duckdb.DuckDBPyConnection, steps: bool) -> Found:
    """Compare each run, which measures first, with the definition."""
    case.load(connection)
    right, rewriting, found = case.expected(connection), case.rewriting, Found()
    for window in windows(steps):
        text = rewriting.incremental(window, scans(case.late), "duckdb", few=steps)
        measurement = rewriting.measurement(window, scans(case.late), "duckdb")
        if measurement is not None:
            measured = measurement.read(connection.execute(measurement.sql).fetchall())
            known = rewriting.knowing(measured)
            narrower = known.incremental(window, scans(case.late), "duckdb", few=steps)
            found.measured += narrower != text
            found.none += bool(measured.none)
            text = narrower
        got = Counter(connection.execute(text).fetchall())
        low = window.tau or datetime.min.replace(tzinfo=timezone.utc)
        mine = Counter({row: n for row, n in right.items() if low < row[-1] <= window.t})
        found.answers += mine.total()
        if got != mine:
            found.differences = (
                f"{case.sql}\n{case.values}\nmissing {mine - got}\nunexpected {got - mine}\n{text}"
            )
            break
    return found
