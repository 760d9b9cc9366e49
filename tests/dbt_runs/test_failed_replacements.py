"""A node that fails leaves what stood in its place, whatever that is and whatever the node is."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

KINDS = {
    "tabled": "materialized='table'",
    "as_files": "materialized='table', file_format='parquet'",
    "appended": "materialized='incremental', incremental_strategy='append'",
    "answered": "materialized='continuous', verify='off'",
}
SOURCE = """
sources:
- name: given
  schema: "{{ target.schema }}"
  tables: [{name: rows, config: {loaded_at_field: at}}]
"""
NOTHING_FITS = """
select id, element_at(array(id), {{ 0 if var('fails') else 1 }}) as v, at
from {{ source('given', 'rows') }}
"""
STOOD = [(7,), (7,), (None,)]


class TestFailedReplacements:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        texts = {
            f"{name}.sql": f"{{{{ config({config}) }}}} {NOTHING_FITS}"
            for name, config in KINDS.items()
        }
        return {**texts, "sources.yml": SOURCE}

    @pytest.mark.parametrize("old", ["view", "table"])
    def test_what_stood_there_is_lost_to_no_failure(self, project: Any, old: str) -> None:
        project.run_sql("create or replace table {schema}.rows (id int, v string, at timestamp)")
        project.run_sql("insert into {schema}.rows values (1, 'a', timestamp'2026-01-01')")
        names = [name for name in KINDS if (old, name) != ("table", "answered")]
        using = "using parquet " if old == "table" else ""
        for name in names:
            rows = "select explode(array(7, 7, null)) as id"
            project.run_sql(f"create {old} {{schema}}.{name} {using}as {rows}")
        said = ["run", "--full-refresh", "--select", *names, "--vars"]
        results = run_dbt([*said, "{fails: true}"], expect_pass=False)
        assert {str(result.status) for result in results} == {"error"}
        for name in names:
            # The folder that Spark leaves of a failed write is in the way of a table's name.
            stands = f"{name}__dbt_backup" if old == "table" else name
            found = project.run_sql(f"select * from {{schema}}.{stands}", fetch="all")
            assert sorted(map(tuple, found), key=repr) == STOOD, name
        if old == "table":
            return
        run_dbt([*said, "{fails: false}"])
        for name in names:
            found = project.run_sql(f"select id, v from {{schema}}.{name}", fetch="all")
            assert [tuple(row) for row in found] == [(1, 1)], name
        there = project.run_sql("show tables in {schema}", fetch="all")
        assert not [row[1] for row in there if "backup" in row[1]]
        for name in names:
            project.run_sql(f"drop table {{schema}}.{name}")
