"""What packages ask of the adapter, without a Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import sqlglot
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.relation import SparkRelation

from dbt.adapters.tapestry.packages import (
    ilike_matcher,
    prefer_own_macros,
    relations_like,
    tables_sql,
)

NAMES = ["", "a", "A", "ab", "a_b", "a%b", "axb", "b", "ä", "Ä_1", "a\nb", "a.b", "[a]", "a\\b"]
PATTERNS = ["", "%", "_", "a%", "A_B", "%b", "a\\_b", "a\\%b", "ä%", "a.b", "[a]", "a\\\\b"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_ilike_means(pattern: str) -> None:
    """DuckDB's answer, but for the empty pattern: dbt_utils' word for "leave nothing out"."""
    asked = "select ? ilike ? escape '\\'"
    with duckdb.connect() as database:
        answers = [database.execute(asked, [name, pattern]).fetchall() for name in NAMES]
    expected = [answer == [(True,)] for answer in answers]
    if not pattern:
        expected = [False] * len(NAMES)
    assert [ilike_matcher(pattern)(name) for name in NAMES] == expected


def _found(*names: str) -> list[Any]:
    return [
        SparkRelation.create(schema="s", identifier=name, type=RelationType.Table) for name in names
    ]


def test_relations_are_chosen_by_schema_name_and_exception() -> None:
    listed = {"shop": _found("orders_1", "orders_2", "orders_old"), "other": _found("orders_3")}
    found = relations_like(listed, listed.__getitem__, ("SHOP", "orders%", "%old"))
    assert [relation.identifier for relation in found] == ["orders_1", "orders_2"]


@pytest.mark.parametrize(
    "names", [(), ("plain",), ("it's", "back\\slash", "line\nbreak", "${env:HOME}", "`", "--")]
)
def test_the_query_holds_the_names_as_they_are(names: tuple[str, ...]) -> None:
    # Bytes that are cast to a text are that text in Spark, and escapes in DuckDB.
    spark = re.sub(
        r"CAST\((X'\w+') AS STRING\)", r"decode(\1, 'UTF-8')", tables_sql(_found(*names))
    )
    sql = sqlglot.transpile(spark, read="spark", write="duckdb")[0]
    with duckdb.connect() as database:
        rows = database.execute(sql).fetchall()
    assert rows == [("s", name, "table") for name in names]


def test_a_project_that_says_nothing_finds_the_adapter_s_macros() -> None:
    config = SimpleNamespace(project_name="mine", dispatch=[])
    prefer_own_macros(config)
    prefer_own_macros(config)
    assert config.dispatch == [
        {"macro_namespace": name, "search_order": ["mine", "dbt", name]}
        for name in ("dbt_utils", "audit_helper")
    ]


def test_a_project_s_own_order_stays() -> None:
    given = {"macro_namespace": "dbt_utils", "search_order": ["mine", "dbt_utils"]}
    config = SimpleNamespace(project_name="mine", dispatch=[given])
    prefer_own_macros(config)
    assert [one for one in config.dispatch if one["macro_namespace"] == "dbt_utils"] == [given]
