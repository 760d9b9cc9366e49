"""Expectations through real `dbt` invocations: all materializations, the record, the messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

SOURCES = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
models:
  - name: kept
    config:
      materialized: continuous
      expectations:
        - {name: has_author, expect: "author is not null", on_violation: drop}
        - {expect_column_value_lengths_to_be_between: {column: author, max_value: 1}}
    columns: [{name: id, tests: [unique]}]
  - name: built
    config:
      materialized: table
      meta:
        expectations:
          - {name: has_author, expect: "author is not null", on_violation: drop}
          - {name: small, expect: "id < 3"}
          - {expect_column_values_to_be_unique: {column: id}, on_violation: fail}
  - name: seen
    config:
      materialized: view
      expectations: [{name: small, expect: "id < 9", on_violation: fail}]
  - name: grown
    config:
      materialized: incremental
      incremental_strategy: append
      expectations:
        - {name: has_author, expect: "author is not null", on_violation: drop}
        - {name: small, expect: "id < 5", on_violation: fail}
        - {name: tiny, expect: "id < 3"}
"""
KEPT = "select id, author from {{ source('bboard', 'messages') }}"
GROWN = KEPT + "{% if is_incremental() %} where id > (select max(id) from {{ this }}){% endif %}"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "schema.yml": SOURCES,
        "kept.sql": KEPT,
        "built.sql": KEPT,
        "seen.sql": KEPT,
        "grown.sql": GROWN,
    }


@pytest.fixture(scope="class")
def loaded(project: Any) -> Any:
    project.run_sql(
        "create table {schema}.messages (id int, author string, ts timestamp) using delta"
    )
    project.run_sql(
        "insert into {schema}.messages values (1, 'a', timestamp'2026-01-01'),"
        " (2, null, timestamp'2026-01-02'), (3, 'bb', timestamp'2026-01-03')"
    )
    return project


def ids(project: Any, table: str) -> list[int]:
    """The ids that stand in a table."""
    return sorted(
        row[0]
        for row in project.run_sql(f"select id from {project.test_schema}.{table}", fetch="all")
    )


class TestExpectations:
    """One life of a project: the tests go on from one another."""

    def test_all_materializations(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-11")
        results, output = run_dbt_and_capture(["build"])
        found = {r.node.name: r for r in results}
        kept = found["kept"]
        assert "2 rows in" in kept.message
        assert "1 rejected, 1 warned" in kept.message
        assert kept.adapter_response["rejected_rows"] == 1
        assert kept.adapter_response["violations"]["has_author"] == 1
        for name in ("kept", "built", "grown"):
            assert ids(loaded, name) == [1, 3]
            assert ids(loaded, f"{name}__rejected") == [2]
        assert "1 rejected, 2 warned" in found["built"].message
        assert ids(loaded, "seen") == [1, 2, 3]
        assert "small (1 row) is not met" in output
        tables = loaded.run_sql("show tables in {schema} like '*staged*'", fetch="all")
        assert not tables

    def test_the_record(self, loaded: Any) -> None:
        rows = loaded.run_sql(
            "select model, name, status, violations from {schema}.tapestry_checks", fetch="all"
        )
        found = {(row[0].split(".")[1], row[1]): (row[2], row[3]) for row in rows}
        assert found["kept", "has_author"] == ("warn", 1)
        assert found["built", "small"] == ("warn", 1)
        assert found["seen", "small"] == ("pass", 0)
        rows = loaded.run_sql(
            "select model, rejected_rows from {schema}.tapestry_runs", fetch="all"
        )
        assert [(row[0].split(".")[1], row[1]) for row in rows] == [("kept", 1)]
        ((files, size, written),) = loaded.run_sql(
            "select files_read, bytes_read, files_written from {schema}.tapestry_runs", fetch="all"
        )
        assert files > 0
        assert size > 0
        assert written > 0
        target = Path(loaded.project_root) / "target"
        assert len(list(target.glob("great_expectations/gx/**/validations/**/*.json"))) == 4
        assert list(target.glob("great_expectations/**/index.html"))
        results = json.loads((target / "run_results.json").read_text())["results"]
        assert any(r["adapter_response"].get("rejected_rows") == 1 for r in results)

    def test_an_incremental_batch(self, loaded: Any) -> None:
        loaded.run_sql(
            "insert into {schema}.messages values (4, null, timestamp'2026-01-12'),"
            " (4, 'c', timestamp'2026-01-12')"
        )
        results = run_dbt(["run", "--select", "grown"])
        assert ids(loaded, "grown") == [1, 3, 4]
        assert ids(loaded, "grown__rejected") == [2, 4]
        assert results.results[0].adapter_response["violations"] == {
            "has_author": 1,
            "tiny": 2,
        }
        loaded.run_sql("insert into {schema}.messages values (5, 'c', timestamp'2026-01-13')")
        results = run_dbt(["run", "--select", "grown"], expect_pass=False)
        assert "small (1 row)" in results.results[0].message
        assert ids(loaded, "grown") == [1, 3, 4]

    def test_fail_leaves_everything_as_it_was(
        self, loaded: Any, as_of: Callable[[str], None]
    ) -> None:
        as_of("2026-02-01")
        loaded.run_sql(
            "insert into {schema}.messages values (1, 'z', timestamp'2026-01-14'),"
            " (9, 'z', timestamp'2026-01-15')"
        )
        results = run_dbt(["run", "--select", "built", "seen"], expect_pass=False)
        messages = {r.node.name: r.message for r in results}
        assert "expect_column_values_to_be_unique(id) (4 rows)" in messages["built"]
        assert "small (1 row)" in messages["seen"]
        assert "Traceback" not in messages["built"] + messages["seen"]
        assert ids(loaded, "built") == [1, 3]

    @pytest.mark.parametrize(
        ("name", "entry", "told"),
        [
            ("seen", "{'name': 'd', 'expect': 'id > 1', 'on_violation': 'drop'}", "is a view"),
            ("grown", "{'expect': 'ids > 1'}", "did you mean id?"),
            ("kept", "{'expect': 'ids > 1'}", "did you mean id?"),
        ],
    )
    def test_refused(self, loaded: Any, name: str, entry: str, told: str) -> None:
        path = Path(loaded.project_root) / f"models/{name}.sql"
        path.write_text("{{ config(expectations=[" + entry + "], meta={}) }}" + KEPT)
        results = run_dbt(["run", "--select", name], expect_pass=False)
        path.write_text(KEPT)
        assert told in results.results[0].message
        assert f"models/{name}.sql" in results.results[0].message
