"""A second kind of model, put in by a line in the registry and a macro, through dbt and the CLI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from tests.command import tapestry_on

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds import registry

pytestmark = pytest.mark.more

MACRO = """
{% materialization whole, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_model()) }}
{% endmaterialization %}
"""
SOURCES = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
models:
  - name: counts
    config: {meta: {expectations: [{name: few, expect: "n < 3", on_violation: drop}]}}
    columns: [{name: author, tests: [unique]}]
"""
COUNTS = """
{{ config(materialized='whole', verify='full') }}
select author, count(*) as n from {{ source('bboard', 'messages') }} group by author
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KINDS, "whole", "tests.kinds.whole:Whole")


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SOURCES, "counts.sql": COUNTS}


@pytest.fixture(scope="class")
def macros() -> dict[str, str]:
    return {"whole.sql": MACRO}


def counts(project: Any) -> list[tuple[Any, ...]]:
    rows = project.run_sql("select author, n from {schema}.counts", fetch="all")
    return sorted(tuple(row) for row in rows)


class TestKeysOfOthers:
    """What only `continuous` knows is an error where a model says it, and nothing from a folder."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        folder = {"+late_rows": "warn", "+meta": {"lag": "1 hour"}}
        return {"models": {"test": {**folder, "inner": {"+begin": "2026-01-01"}}}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        query = "select count(*) as n from {{ source('raw', 'rows') }}"

        def counting(**own: Any) -> str:
            said = ", ".join(f"{key}={value!r}" for key, value in own.items())
            return f"{{{{ config(materialized='whole', {said}) }}}} {query}"

        own = {"yaml": {"late_rows": "fail"}, "like_folder": {"late_rows": "warn"}}
        entries = [{"name": name, "config": config} for name, config in own.items()]
        texts = {
            "inherits": {"verify": "full"},
            "calls": {"late_rows": "warn"},
            "meta": {"meta": {"lag": "2 hours"}},
            "yaml": {},
            "like_folder": {},
        }
        found = {f"{name}.sql": counting(**own) for name, own in texts.items()}
        inner = {"inner": {"deep.sql": counting(), "own.sql": counting(begin="2026-02-01")}}
        source = {"name": "raw", "schema": "{{ target.schema }}", "tables": [{"name": "rows"}]}
        said = {"version": 2, "models": entries, "sources": [{**source, "loaded_at_field": "ts"}]}
        return {**found, **inner, "models.yml": json.dumps(said)}

    def test_own_or_inherited(self, project: Any) -> None:
        project.run_sql("create table {schema}.rows (id int, ts timestamp) using delta")
        results = run_dbt(["run"], expect_pass=False)
        said = {r.node.name: str(r.message) for r in results if str(r.status) == "error"}
        assert set(said) == {"calls", "meta", "yaml", "own"}
        assert "late_rows does something on continuous only: this model is whole" in said["yaml"]
        assert "lag does something on continuous only" in said["meta"]
        assert "begin does something on incremental (microbatch), continuous only" in said["own"]
        assert "take it out; valid are: expectations, verify" in said["calls"]


class TestSecondKind:
    def test_its_life(self, project: Any, as_of: Callable[[str], None], tmp_path: Path) -> None:
        project.run_sql(
            "create table {schema}.messages (id int, author string, ts timestamp) using delta"
        )
        add = "insert into {schema}.messages values "
        project.run_sql(add + "(1, 'a', timestamp'2026-01-01'), (2, 'a', timestamp'2026-01-02')")
        as_of("2026-01-11")
        run_dbt(["run", "--empty"])
        assert counts(project) == []
        (result,) = run_dbt(["run"])
        assert result.adapter_response["code"] == "create"
        assert counts(project) == [("a", 2)]
        (result,) = run_dbt(["run"])
        assert result.message == "nothing new"
        project.run_sql("delete from {schema}.messages where id = 1")
        project.run_sql(add + ", ".join(f"({n}, 'b', timestamp'2026-01-03')" for n in (3, 4, 5)))
        as_of("2026-01-12")
        results = run_dbt(["build"])
        assert results[0].adapter_response["code"] == "overwrite"
        assert results[0].adapter_response["rejected_rows"] == 1
        assert counts(project) == [("a", 1)]
        run_dbt(["run", "--full-refresh"])
        assert counts(project) == [("a", 1)]
        explained = json.loads(tapestry_on(project, "explain", "counts", "--json").output)
        assert [step["name"] for step in explained["steps"]] == ["answer"]
        checked = tapestry_on(project, "verify", "counts", "--json")
        assert {row["check"]: row["status"] for row in json.loads(checked.output)} == {
            "enough": "fail",  # an expectation keeps b out of the table
            "not_too_much": "pass",
        }
        refused = tapestry_on(project, "eject", "counts").exception
        assert isinstance(refused, ConfigurationError)
        assert "only continuous models are ejected" in str(refused)
        page = tmp_path / "report.html"
        done = tapestry_on(project, "report", "--output", str(page))
        assert done.exit_code == 0, done.output
        said = json.loads(tapestry_on(project, "report", "--json").output)
        assert "counts" in json.dumps(said)
        assert "cannot be read" not in json.dumps(said)
        assert "counts" in page.read_text("utf-8")
