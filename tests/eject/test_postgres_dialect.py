"""Solved time atoms and titled pairs in PostgreSQL: what the transpiler leaves is what they mean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sql.instants import ROWS, disagreements, instants
from tests.sql.time_atoms import DUCKDB_TOO, SPARK_ONLY, conditions_at_s

from tapestry.sql.dialects import for_dialect

psycopg2 = pytest.importorskip("psycopg2")


@pytest.fixture(scope="module")
def connection(postgres: Path) -> Iterator[Any]:
    opened = psycopg2.connect(host=str(postgres), user="dbt", dbname="postgres")
    opened.autocommit = True
    cursor = opened.cursor()
    cursor.execute("SET TIME ZONE 'UTC'")
    cursor.execute(f"CREATE TEMP TABLE t AS {ROWS.replace('TIMESTAMP', 'TIMESTAMPTZ')}")
    values = ", ".join(f"('{text}')" for text in instants())
    cursor.execute(
        "CREATE TEMP TABLE i AS SELECT CAST(v.s || '+00:00' AS TIMESTAMPTZ) AS s"
        f" FROM (VALUES {values}) v(s)"
    )
    yield cursor
    opened.close()


@pytest.mark.parametrize("text", DUCKDB_TOO + SPARK_ONLY)
def test_solution_is_the_definition(connection: Any, text: str) -> None:
    atom, solved = conditions_at_s(text)
    texts = {w: for_dialect(node, "postgres").sql("postgres") for w, node in solved.items()}
    defined = for_dialect(atom, "postgres").sql("postgres")
    connection.execute(f"SELECT {disagreements(defined, texts)} FROM t CROSS JOIN i")
    result = connection.fetchone()
    assert result[:3] == (0, 0, 0), texts
    assert result[3] > 0
    assert result[4] > 0
