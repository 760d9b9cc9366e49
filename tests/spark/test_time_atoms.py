"""Solved time atoms against their definition, executed in Spark, whose functions they speak of."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from tests.sql.instants import ROWS, disagreements, instants
from tests.sql.time_atoms import DUCKDB_TOO, SPARK_ONLY, conditions_at_s

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

pytestmark = pytest.mark.gate

CHUNK = 20
COLUMNS = (Column("id", "bigint"), Column("ts", "timestamp"))
BERLIN = Catalog({"t": Source("t", COLUMNS, "ts")}, time_zone="Europe/Berlin")


@pytest.mark.more
def test_solutions_are_the_definition(spark: Any) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {ROWS}")
    values = ", ".join(f"(TIMESTAMP '{text}')" for text in instants())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW i AS SELECT s FROM VALUES {values} AS v(s)")
    atoms = DUCKDB_TOO + SPARK_ONLY
    wrong = []
    for start in range(0, len(atoms), CHUNK):
        chunk = atoms[start : start + CHUNK]
        columns = []
        for text in chunk:
            atom, solved = conditions_at_s(text)
            texts = {wanted: node.sql("spark") for wanted, node in solved.items()}
            columns.append(disagreements(atom.sql("spark"), texts))
        row = spark.sql(f"SELECT {', '.join(columns)} FROM t CROSS JOIN i").collect()[0]
        for n, text in enumerate(chunk):
            *different, true, false = row[5 * n : 5 * n + 5]
            if any(different) or not true or not false:
                wrong.append((text, *row[5 * n : 5 * n + 5]))
    assert not wrong


@pytest.mark.parametrize("change", ["2026-03-29 01:00", "2026-10-25 01:00"])
def test_intervals_of_a_day_are_the_calendar_s_on_either_side(spark: Any, change: str) -> None:
    """Windows around a change of the clock in Berlin: each row in that of its first instant, once.

    Spark adds the whole days of 28 hours by the calendar, not those of 20 and 10 hours.
    """
    at = datetime.fromisoformat(change).replace(tzinfo=timezone.utc)
    sql = (
        "select id from t where now() > ts + interval 24 hours union all select 1000 + id from t"
        " where now() > ts + interval 28 hours union all select 2000 + id from t where now() > ts"
        " + interval 20 hours + interval 10 hours union all select 3000 + id from t where"
        " now() > ts + interval 23 hours"
    )
    quarter = f"timestamp_seconds({int(at.timestamp()) - 36 * 3600} + 900 * id)"
    rewriting = rewrite(sql.replace("select id", "select id as n"), BERLIN)
    scans = {"t": Scan("quarters", "ts", "id")}
    ends = [at + timedelta(minutes=29 * n, microseconds=n % 3) for n in range(-3, 5)]
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        spark.sql(
            "CREATE OR REPLACE TEMPORARY VIEW quarters AS"
            f" SELECT id, {quarter} AS ts FROM range(144)"
        )

        def answers(tau: datetime | None, t: datetime) -> Counter[Any]:
            found = spark.sql(rewriting.incremental(Window(tau, t), scans)).selectExpr(
                "n", "unix_micros(_matched_at) AS us"
            )
            return Counter(tuple(row) for row in found.collect())

        whole = answers(None, ends[-1])
        for tau, t in pairwise(ends):
            micros = [int(end.timestamp()) * 10**6 + end.microsecond for end in (tau, t)]
            wanted = {row: n for row, n in whole.items() if micros[0] < row[1] <= micros[1]}
            assert len(wanted) >= 4
            assert answers(tau, t) == wanted
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
