"""`arrival: commit`: rows arrive with the commits that added them, through real `dbt` runs."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

SOURCES = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {meta: {arrival: commit}}}]
models:
  - name: unanswered
    config: {verify: full}
"""
UNANSWERED = """
{{ config(materialized='continuous') }}
select * from {{ source('bboard', 'messages') }} m
where not exists (select 1 from {{ source('bboard', 'messages') }} r where r.inreplyto = m.id)
"""
TRACKED = "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true'"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SOURCES, "unanswered.sql": UNANSWERED}


class TestCommits:
    """One life of a project."""

    def test_a_row_arrives_with_its_commit(self, project: Any) -> None:
        project.run_sql(
            "create table {schema}.messages (id int, inreplyto int) using delta"
            f" tblproperties ({TRACKED})"
        )
        project.run_sql("insert into {schema}.messages values (1, null), (2, 1)")
        run_dbt(["run"])
        project.run_sql("insert into {schema}.messages values (3, null)")
        project.run_sql("optimize {schema}.messages")
        project.run_sql("insert into {schema}.messages values (4, 2)")
        (result,) = run_dbt(["run"])
        print(result.message)
        rows = project.run_sql("select * from {schema}.unanswered order by id", fetch="all")
        print(rows)
        print(
            project.run_sql("select * from {schema}.tapestry_commits order by version", fetch="all")
        )
        print(project.run_sql("describe history {schema}.messages", fetch="all"))
        assert 0
