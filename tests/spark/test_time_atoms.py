"""Solved time atoms against their definition, executed in Spark, whose functions they speak of."""

from __future__ import annotations

from typing import Any

from tests.sql.instants import ROWS, disagreements, instants
from tests.sql.time_atoms import DUCKDB_TOO, SPARK_ONLY, conditions_at_s

CHUNK = 20


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
