"""`arrival: commit`: rows arrive with the commits that added them, through real `dbt` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

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

    def test_a_table_that_does_not_track_commits_is_refused(self, project: Any) -> None:
        project.run_sql("create table {schema}.messages (id int, inreplyto int) using delta")
        project.run_sql("insert into {schema}.messages values (1, null), (2, 1)")
        _, output = run_dbt_and_capture(["run"], expect_pass=False)
        assert "does not say when its rows were committed" in output
        assert f"SET TBLPROPERTIES ({TRACKED})" in output
        tables = {row[1] for row in project.run_sql("show tables in {schema}", "all")}
        assert tables == {"messages", "tapestry_queries"}  # which lists every continuous model

    def test_a_row_arrives_with_its_commit(self, project: Any) -> None:
        project.run_sql(f"alter table {{schema}}.messages set tblproperties ({TRACKED})")
        run_dbt(["run"])
        project.run_sql("insert into {schema}.messages values (3, null)")
        project.run_sql("optimize {schema}.messages")
        project.run_sql("insert into {schema}.messages values (4, 2)")
        (result,) = run_dbt(["run"])
        assert "2 rows in" in result.message
        rows = project.run_sql("select * from {schema}.unanswered order by id", "all")
        history = project.run_sql("describe history {schema}.messages", "all")
        made = {row[0]: row[1] for row in history}
        newest = max(made)
        enabled = next(row[1] for row in history if "InCommit" in str(row[5]))
        assert [tuple(row) for row in rows] == [
            (2, 1, enabled),
            (3, None, made[newest - 2]),
            (4, 2, made[newest]),
        ]
        (written,) = Path(project.project_root).glob(
            "target/compiled/**/unanswered.incremental.sql"
        )
        assert "no\n  column has it" in written.read_text()
