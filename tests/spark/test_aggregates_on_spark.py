"""What the rewriting accepts of aggregates, windows and subqueries, Spark plans too, as rewritten.

A query that Spark refuses when it runs would be accepted for nothing; and what it takes as written
might lie outside of its rules for correlated subqueries once each row has its instant.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tapestry.sql import Scan, Window, rewrite
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.scan import KnownAnswers

TABLES: dict[str, tuple[str, str | None]] = {
    "m": ("id int, k int, v int, d double, p decimal(10,2), c string, tags array<string>", "ts"),
    "r": ("id int, k int, v int, d double, c string", "ts"),
    "l": ("k int, v int, name string", None),
}
T = datetime(2026, 3, 1, tzinfo=timezone.utc)

QUERIES = (Path(__file__).parent / "aggregates.txt").read_text("utf-8").splitlines()


def _columns(name: str) -> list[tuple[str, str]]:
    columns, arrival = TABLES[name]
    listed = [*columns.split(", "), *([f"{arrival} timestamp"] if arrival else [])]
    return [(column, kind) for column, kind in (one.split(" ", 1) for one in listed)]


CATALOG = Catalog(
    {
        name: Source(name, tuple(Column(*one) for one in _columns(name)), arrival)
        for name, (_, arrival) in TABLES.items()
    }
)
SCANS = {name: Scan(name, arrival, "CAST(k AS STRING)") for name, (_, arrival) in TABLES.items()}


@pytest.fixture(scope="module")
def views(spark: Any) -> Any:
    """The session with the tables, empty."""
    for name in TABLES:
        empty = ", ".join(f"CAST(NULL AS {kind}) AS {column}" for column, kind in _columns(name))
        spark.sql(f"SELECT {empty} LIMIT 0").createOrReplaceTempView(name)
    return spark


@pytest.mark.parametrize("query", QUERIES)
def test_spark_takes_it_as_it_is_written_and_rewritten(views: Any, query: str) -> None:
    if "QUALIFY" not in query:  # which Spark does not read
        views.sql(query)
    rewriting = rewrite(query, CATALOG)
    assert rewriting.strategy == "instants"
    first = views.sql(rewriting.incremental(Window(None, T), SCANS))
    first.createOrReplaceTempView("target")
    next_day = Window(T, T + timedelta(days=1))
    views.sql(rewriting.incremental(next_day, SCANS, known=KnownAnswers("target")))


@pytest.mark.more
@pytest.mark.parametrize("query", QUERIES)
def test_spark_plans_it_and_runs_it(views: Any, query: str) -> None:
    rewriting = rewrite(query, CATALOG)
    assert views.sql(rewriting.incremental(Window(None, T), SCANS)).collect() == []
