"""Solved time atoms and titled pairs in PostgreSQL: they mean there what they mean in Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.sql import test_pairs
from tests.sql.instants import ROWS, disagreements, instants
from tests.sql.test_pairs import END, PAIRS, SCANS, START, rewriting_of
from tests.sql.time_atoms import DUCKDB_TOO, SPARK_ONLY, conditions_at_s

from tapestry.sql import Scan, Window
from tapestry.sql.write.dialects import for_dialect

psycopg2 = pytest.importorskip("psycopg2")


@pytest.fixture(scope="module")
def connection(postgres: Path) -> Iterator[Any]:
    opened = psycopg2.connect(host=str(postgres), user="dbt", dbname="postgres")
    opened.autocommit = True
    cursor = opened.cursor()
    cursor.execute("SET TIME ZONE 'UTC'")
    cursor.execute("DROP SCHEMA IF EXISTS db CASCADE")
    cursor.execute("CREATE SCHEMA db")
    cursor.execute(f"CREATE TEMP TABLE t AS {ROWS.replace('TIMESTAMP', 'TIMESTAMPTZ')}")
    values = ", ".join(f"('{text}')" for text in instants())
    cursor.execute(
        "CREATE TEMP TABLE i AS SELECT CAST(v.s || '+00:00' AS TIMESTAMPTZ) AS s"
        f" FROM (VALUES {values}) v(s)"
    )
    yield cursor
    opened.close()


A_NUMBER = "PostgreSQL: the difference of two dates is a number of days, not an interval"
TIME_BEGINS = "PostgreSQL: an instant before 4713 BC, from days or years, is an error"
NOT_YET = {
    "current_date() - d > interval 1 day": A_NUMBER,
    "current_date() - (d - date '2026-01-01') > d": A_NUMBER,
    "datediff(now(), ts) < cast(n as bigint) * 3000000000": TIME_BEGINS,
    "datediff(now(), ts) >= n * 1e300": TIME_BEGINS,
    "year(now()) > cast(n as bigint) * 3000000000": TIME_BEGINS,
    "timestampdiff(hour, ts, now()) > cast(n as bigint) * 3000000000": TIME_BEGINS,
}
ATOMS = [
    pytest.param(t, marks=pytest.mark.xfail(reason=NOT_YET[t], strict=True)) if t in NOT_YET else t
    for t in DUCKDB_TOO + SPARK_ONLY
]


@pytest.mark.parametrize("text", ATOMS)
def test_solution_is_the_definition(connection: Any, text: str) -> None:
    atom, solved = conditions_at_s(text)
    texts = {w: for_dialect(node, "postgres").sql("postgres") for w, node in solved.items()}
    defined = for_dialect(atom, "postgres").sql("postgres")
    connection.execute(f"SELECT {disagreements(defined, texts)} FROM t CROSS JOIN i")
    result = connection.fetchone()
    assert result[:3] == (0, 0, 0), texts
    assert result[3] > 0
    assert result[4] > 0


@pytest.fixture(scope="module")
def both(connection: Any) -> tuple[Any, duckdb.DuckDBPyConnection]:
    """The tables of the titled pairs, in PostgreSQL and in DuckDB."""
    duck = test_pairs.filled()
    columns = {
        "messages": "id int, parent int, author text, due timestamptz, ts timestamptz",
        "authors": "author text, level int",
    }
    for name, typed in columns.items():
        connection.execute(f"CREATE TABLE db.{name} ({typed})")
        for row in duck.execute(f"SELECT * FROM db.{name}").fetchall():
            marks = ", ".join(["%s"] * len(row))
            connection.execute(f"INSERT INTO db.{name} VALUES ({marks})", row)
    return connection, duck


def _utc(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(v.astimezone(timezone.utc) if isinstance(v, datetime) else v for v in row)
        for row in rows
    )


@pytest.mark.parametrize("pair", PAIRS, ids=[title for _, title, _, _ in PAIRS])
def test_pairs_deliver_what_they_deliver_in_duckdb(
    both: tuple[Any, duckdb.DuckDBPyConnection], pair: tuple[Path, str, str, str]
) -> None:
    connection, duck = both
    rewriting = rewriting_of(pair[2])
    there = {
        "messages": Scan("db.messages", "ts", "CAST(ctid AS TEXT)"),
        "authors": Scan("db.authors", None, "CAST(ctid AS TEXT)"),
    }
    ends = [START + timedelta(hours=9), START + timedelta(days=2), END]
    for tau, t in zip([None, *ends], ends, strict=False):
        connection.execute(rewriting.incremental(Window(tau, t), there, dialect="postgres"))
        wanted = duck.execute(rewriting.incremental(Window(tau, t), SCANS, dialect="duckdb"))
        assert _utc(connection.fetchall()) == _utc(wanted.fetchall())
