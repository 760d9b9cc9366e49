"""The judge's random queries in PostgreSQL: Q^I in its dialect gives what the definition says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))

from judge.case import Case, expected, random_case
from judge.data import Data
from judge.oracle import connect
from judge.report import reproduction
from judge.schema import TABLES
from judge.verdict import compare
from tests.seeds import least, seed

pytestmark = pytest.mark.more

psycopg2 = pytest.importorskip("psycopg2")
QUERIES = 60
LONGEST = 400  # characters; PostgreSQL plans longer ones too slowly for this many
TYPES = {"int": "int", "text": "text", "date": "date", "time": "timestamptz"}


@pytest.fixture(scope="module")
def connection(postgres: Path) -> Iterator[Any]:
    opened = psycopg2.connect(host=str(postgres), user="dbt", dbname="postgres")
    opened.autocommit = True
    cursor = opened.cursor()
    cursor.execute("SET TIME ZONE 'UTC'")
    cursor.execute("SET statement_timeout = '20s'")
    yield cursor
    opened.close()


def _load(cursor: Any, data: Data) -> None:
    for table, columns in TABLES.items():
        types = [*(TYPES[type_] for type_ in columns.values()), "timestamptz", "int"]
        names = [*columns, "_arr", "_rid"]
        shape = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute(f"CREATE TEMP TABLE {table} ({shape})")
        for row in data.rows[table]:
            marks = ", ".join(["%s"] * len(row))
            cursor.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def _cases() -> list[Case]:
    found: list[Case] = []
    number = seed()
    while len(found) < QUERIES:
        case = random_case(number)
        number += 1
        if len(case.sql) <= LONGEST and len(case.ends) <= 4:
            found.append(case)
    return found


def test_random_queries_equal_the_definition(connection: Any) -> None:
    duck = connect()
    kinds: dict[str, int] = {}
    wrong = []
    for case in _cases():
        right = expected(case, duck)
        _load(connection, case.data)

        def run(text: str) -> list[tuple[Any, ...]]:
            # The judge's scans are derived tables without a name, which PostgreSQL 15 wants.
            text = text.replace("OR _arr IS NULL)", "OR _arr IS NULL) AS pinned")
            try:
                connection.execute(text)
            except psycopg2.errors.QueryCanceled as error:
                raise RuntimeError("Query interrupted") from error  # slow, as the judge calls it
            return list(connection.fetchall())

        verdict = compare(case, right, run, "postgres")
        kinds[verdict.kind] = kinds.get(verdict.kind, 0) + 1
        if verdict.failed:
            wrong.append(reproduction(case, right, verdict))
    print(kinds)
    assert not wrong, f"{kinds}\n" + "\n\n".join(wrong[:3])
    assert kinds["equal"] >= least(0.8, QUERIES), kinds
