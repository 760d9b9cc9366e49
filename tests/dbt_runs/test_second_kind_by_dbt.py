"""A second kind of model, put in by a line in the registry and a macro, through dbt and the CLI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt.tests.util import run_dbt

from tapestry.cli.main import commands
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


def tapestry(project: Any, *arguments: str) -> Result:
    where = ["--project-dir", str(project.project_root), "--profiles-dir", project.profiles_dir]
    return CliRunner().invoke(commands, [*arguments, *where], catch_exceptions=False)


def counts(project: Any) -> list[tuple[Any, ...]]:
    rows = project.run_sql("select author, n from {schema}.counts", fetch="all")
    return sorted(tuple(row) for row in rows)


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
        explained = json.loads(tapestry(project, "explain", "counts", "--json").output)
        assert [step["name"] for step in explained["steps"]] == ["answer"]
        checked = tapestry(project, "verify", "counts", "--json")
        assert {row["check"]: row["status"] for row in json.loads(checked.output)} == {
            "enough": "fail",  # an expectation keeps b out of the table
            "not_too_much": "pass",
        }
        with pytest.raises(ConfigurationError, match="only continuous models are ejected"):
            tapestry(project, "eject", "counts")
        page = tmp_path / "report.html"
        done = tapestry(project, "report", "--output", str(page))
        assert done.exit_code == 0, done.output
        said = json.loads(tapestry(project, "report", "--json").output)
        assert "counts" in json.dumps(said)
        assert "cannot be read" not in json.dumps(said)
        assert "counts" in page.read_text("utf-8")
