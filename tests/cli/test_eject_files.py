"""What stands in an ejected project."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from tests.eject.board import MODELS, ejected_files
from tests.sql.test_pairs import CATALOG

from tapestry.cli.eject import known_dialect
from tapestry.cli.eject_files import Ejected, eject_files
from tapestry.cli.eject_macros import test_macros as macros_of_tests
from tapestry.runs.model.model import Model, ModelConfig
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "trino", "redshift", "databricks"])
def test_other_dialects_are_written_and_marked_untested(dialect: str) -> None:
    known_dialect(dialect)
    files = ejected_files(dialect)
    for name in MODELS:
        assert "(UNTESTED)" in files[f"models/{name}.sql"]
        assert "\ufdd0" not in files[f"models/{name}.sql"] + files[f"macros/{name}_tests.sql"]
    assert ("except all" in macros_of_tests(dialect)) == (dialect == "databricks")


def test_the_authors_braces_are_no_template() -> None:
    files = ejected_files("duckdb")
    assert "= '{{ '{%' }} x'" in files["models/reminders.sql"]
    assert "= '{{ '{%' }} x'" in files["macros/reminders_tests.sql"]


def test_what_a_model_says_of_its_runs_goes_along_or_is_said_to_stay_behind() -> None:
    config = ModelConfig.parse(
        {
            "lag": "2 seconds",
            "begin": "2026-01-02T00:00:00.000001Z",
            "assume": ["r.ts >= m.ts"],
            "expectations": [{"name": "named", "expect": "id > 0", "on_violation": "drop"}],
        }
    )
    sql = "select m.id from messages m join messages r on r.parent = m.id"
    table = DeltaSource("messages", CATALOG.relations["messages"].columns, "", "")  # type: ignore[union-attr]
    relations = Relations(CATALOG, {"messages": Pinned(table, Pin("", 0))})
    model = Model("replied", "replied", sql, config, file="models/replied.sql")
    node = {"config": {"tags": ["mine"], "alias": "other"}, "description": "Replied to"}
    graph: dict[str, Any] = {"sources": {}, "nodes": {}}
    files = eject_files([Ejected(model, relations, node)], graph, "duckdb", "p")
    text = files["models/replied.sql"]
    assert "{%- set t = tapestry_t(2000000) -%}" in text
    assert "CAST('2026-01-02 00:00:00.000001+00:00' AS TIMESTAMPTZ) <= " in text
    assert text.count("UNION ALL") == 2, "a branch each: what is assumed is not checked here"
    assert "assume: r.ts >= m.ts is not made use of here." in text
    assert "The expectation named (drop) stays behind" in text
    assert "alias='other'" in text
    assert "tags=['mine']" in text
    micros = str(int(datetime(2026, 1, 2, tzinfo=timezone.utc).timestamp()) * 10**6 + 1)
    assert f"true, {micros})" in files["macros/replied_tests.sql"]
    assert "description: Replied to" in files["models/models.yml"]
