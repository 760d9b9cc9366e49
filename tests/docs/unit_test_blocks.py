"""Unit tests of dbt's on a page, done in DuckDB: given rows, the page's query at an instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb
import sqlglot
import yaml
from tests.docs.tables import instant, show

from tapestry.runs.query.answer_as_of import clock_only
from tapestry.sql import Source

_TYPES = {"timestamp": "TIMESTAMPTZ", "string": "VARCHAR"}


def unit_tests(text: str) -> list[dict[str, Any]]:
    """The unit tests that a block of YAML holds."""
    read = yaml.safe_load(text)
    return list(read.get("unit_tests", ())) if isinstance(read, dict) else []


def check_unit_tests(text: str, query: str, known: Mapping[str, Source]) -> None:
    """AssertionError where the query gives other rows than a test expects."""
    for test in unit_tests(text):
        database = duckdb.connect()
        database.execute("SET TimeZone = 'UTC'")
        for given in test["given"]:
            name = given["input"].partition("(")[2].replace("'", "").replace(", ", ".").rstrip(")")
            _fill(database, known[name], given["rows"])
        asked = clock_only(query, instant(test["overrides"]["vars"]["tapestry_as_of"])).sql
        (statement,) = sqlglot.transpile(asked, read="spark", write="duckdb")
        found = database.execute(statement)
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        expected = test["expect"]["rows"]
        looked_at = list(expected[0]) if expected else names
        wanted = Counter(tuple(_text(row[n]) for n in looked_at) for row in expected)
        answers = Counter(tuple(_text(row[n]) for n in looked_at) for row in rows)
        assert answers == wanted, f"{test['name']}: the answers are {answers}"


def _text(value: object) -> str:
    told = str(value)
    return show(instant(told)) if told[:4].isdigit() and "-" in told else show(value)


def _fill(database: duckdb.DuckDBPyConnection, source: Source, rows: list[Any]) -> None:
    types = {c.name: _TYPES.get(c.type, c.type) for c in source.columns}
    schema = source.name.partition(".")[0]
    database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    listed = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    database.execute(f"CREATE TABLE {source.name} ({listed})")
    for row in rows:
        assert set(row) <= set(types), f"{source.name} has no {set(row) - set(types)}"
        values = [row.get(name) for name in types]
        marks = ", ".join("?" for _ in values)
        database.execute(f"INSERT INTO {source.name} VALUES ({marks})", values)
