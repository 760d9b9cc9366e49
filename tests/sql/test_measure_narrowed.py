"""How many bytes a run narrows to: what decides whether rows are sent to every task of a join."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb
import pytest
from tests.sql.database import in_utc

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.window.measured_first import few_rows
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite
from tapestry.sql.planner.join_few import AT_MOST
from tapestry.sql.planner.measure_narrowed import FIXED, ROW

COLUMNS = (
    Column("id", "int"),
    Column("parent", "int"),
    Column("Body", "string"),
    Column("tags", "array<string>"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog({"messages": Source("messages", COLUMNS, "ts")})
SCANS = {"messages": Scan("messages", "ts", "rowid")}
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
WINDOW = Window(BEGIN + timedelta(hours=4), BEGIN + timedelta(hours=9))
IN_IT = range(5, 10)
REPLIES = "from messages m, messages r where r.parent = m.id"
LATER = ("r.ts >= m.ts",)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """One message an hour; the body of every second is NULL, the others are n thousand long."""
    connection = in_utc()
    connection.execute(
        "CREATE TABLE messages AS SELECT n AS id, n - 1 AS parent,"
        " CASE WHEN n % 2 = 1 THEN repeat('x', (1000 * n)::int) END AS Body, ['a', 'bc'] AS tags,"
        " TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_hours(n::int) AS ts FROM range(20) AS t(n)"
    )
    yield connection
    connection.close()


def measured(rewriting: Rewriting, database: duckdb.DuckDBPyConnection) -> Any:
    measurement = rewriting.measurement(WINDOW, SCANS, "duckdb")
    assert measurement is not None
    return measurement.read(database.execute(measurement.sql).fetchall()).size


def test_the_columns_in_use_are_measured(database: duckdb.DuckDBPyConnection) -> None:
    ids = rewrite(f"select m.id, r.id as reply {REPLIES}", CATALOG, assume=LATER)
    bodies = rewrite(f"select m.id, r.body {REPLIES}", CATALOG, assume=LATER)
    tags = rewrite(f"select m.id, r.tags {REPLIES}", CATALOG, assume=LATER)
    few = len(IN_IT) * (ROW + 2 * FIXED)  # its id, or body, or tags; and its parent
    assert measured(ids, database) == few
    assert measured(bodies, database) == few + sum(1000 * n for n in IN_IT if n % 2)
    assert measured(tags, database) == few + len(IN_IT) * len("[a, bc]")


def test_the_largest_branch_counts(database: duckdb.DuckDBPyConnection) -> None:
    """Without the assumption the messages are narrowed too, and theirs are the bodies."""
    both = rewrite(f"select m.body {REPLIES}", CATALOG)
    assert measured(both, database) == len(IN_IT) * (ROW + 2 * FIXED) + 1000 * (5 + 7 + 9)


def test_what_comes_out_of_a_join_is_reckoned(database: duckdb.DuckDBPyConnection) -> None:
    three = rewrite(
        f"select m.id {REPLIES.replace(' where', ', messages s where')} and s.parent = r.id",
        CATALOG,
        assume=(*LATER, "s.ts >= r.ts"),
    )
    assert measured(three, database) == AT_MOST * len(IN_IT) * (ROW + FIXED)


def test_wide_rows_are_not_few() -> None:
    rewriting = rewrite(f"select m.id, r.body {REPLIES}", CATALOG, assume=LATER)
    asked: list[str] = []

    class Asked(Session):
        size = 0

        def run(self, sql: str) -> None:
            raise AssertionError(sql)

        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            asked.append(sql)
            return [(0, self.size, None, None)]

    session = Asked()
    for size, few in ((0, True), (256 * 2**20, True), (256 * 2**20 + 1, False)):
        session.size = size
        assert few_rows(session, rewriting, WINDOW, SCANS, [2**30]).few is few
    assert len(asked) == 3
    assert not few_rows(session, rewriting, WINDOW, SCANS, [2**20]).few  # Spark knows by itself
    assert len(asked) == 3
