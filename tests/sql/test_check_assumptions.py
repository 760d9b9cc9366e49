"""A broken assumption is counted in the window in which the second row of a pair came."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from tests.sql.database import in_utc

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
BETWEEN = START + timedelta(hours=6, microseconds=-1)
"""Message 2 has come, message 1 has not."""
COLUMNS = (Column("id", "int"), Column("parent", "int"), Column("ts", "timestamp"))
CATALOG = Catalog({"messages": Source("messages", COLUMNS, "ts")})
SCANS = {"messages": Scan("db.messages", "ts", "rowid")}
JOIN = "select m.id from messages m join messages r on r.parent = m.id"
ANTI = (
    "select m.id from messages m where now() > m.ts + interval 1 day and not exists"
    " (select 1 from messages r where r.parent = m.id)"
)


@pytest.fixture
def database() -> duckdb.DuckDBPyConnection:
    """Message 2 answers 1 before 1 arrived, on the first day; 4 answers 3 in order."""
    connection = in_utc()
    connection.execute("CREATE SCHEMA db")
    connection.execute(
        "CREATE TABLE db.messages AS SELECT id, parent, CAST(ts AS TIMESTAMPTZ) AS ts FROM (VALUES"
        " (1, NULL, '2026-01-01 06:00:00'), (2, 1, '2026-01-01 05:59:59'),"
        " (3, NULL, '2026-01-02 06:00:00'), (4, 3, '2026-01-02 06:00:00')) v(id, parent, ts)"
    )
    return connection


@pytest.mark.parametrize("query", [JOIN, ANTI])
@pytest.mark.parametrize(
    ("window", "assumption", "broken"),
    [
        (Window(None, START + timedelta(days=3)), "r.ts >= m.ts", 1),
        (Window(START, START + timedelta(days=1)), "r.ts >= m.ts", 1),
        (Window(START + timedelta(days=1), START + timedelta(days=2)), "r.ts >= m.ts", 0),
        (Window(START + timedelta(days=1), START + timedelta(days=2)), "m.ts < r.ts", 1),
        (Window(START, START + timedelta(days=1)), "r.ts >= m.ts - interval 1 second", 0),
        (Window(START, START + timedelta(days=1)), "m.ts <= (r.ts) + interval 1 second", 0),
        (Window(START, START + timedelta(days=1)), "interval 1 second + r.ts > m.ts", 1),
        (Window(BETWEEN, START + timedelta(days=1)), "r.ts >= m.ts", 1),
        (Window(BETWEEN, START + timedelta(days=1)), "r.ts >= m.ts - interval 1 second", 0),
    ],
)
def test_broken_pairs_are_counted(
    database: duckdb.DuckDBPyConnection, query: str, window: Window, assumption: str, broken: int
) -> None:
    rewriting = rewrite(query, CATALOG, assume=(assumption,))
    checks = rewriting.assumption_checks(window, SCANS, dialect="duckdb")
    counts = []
    for text, sql in checks:
        assert text == assumption
        row = database.execute(sql).fetchone()
        assert row is not None
        counts.append(row[0])
    assert sum(counts) == broken


@pytest.mark.parametrize(("days", "broken"), [(6, 1), (8, 0)])
def test_the_other_row_may_be_a_week_older(
    database: duckdb.DuckDBPyConnection, days: int, broken: int
) -> None:
    late = START + timedelta(days=days)
    database.execute("UPDATE db.messages SET ts = ? WHERE id = 1", [late])
    rewriting = rewrite(JOIN, CATALOG, assume=("r.ts >= m.ts",))
    window = Window(late - timedelta(minutes=1), late + timedelta(minutes=1))
    ((_, sql),) = rewriting.assumption_checks(window, SCANS, dialect="duckdb")
    assert database.execute(sql).fetchone() == (broken,)
