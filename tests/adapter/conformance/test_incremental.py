"""Incremental models on Delta: merge, append, insert_overwrite, microbatch, changed columns."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.incremental import (
    test_incremental_merge_exclude_columns,
    test_incremental_microbatch,
    test_incremental_on_schema_change,
    test_incremental_predicates,
    test_incremental_unique_id,
)
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.conformance

PREDICATES_MODEL = """
{{ config(materialized='incremental', unique_key='id') }}
{% if not is_incremental() %}
select cast(1 as bigint) as id, 'hello' as msg, 'blue' as color
union all
select cast(2 as bigint) as id, 'goodbye' as msg, 'red' as color
{% else %}
select cast(1 as bigint) as id, 'hey' as msg, 'blue' as color
union all
select cast(2 as bigint) as id, 'yo' as msg, 'green' as color
union all
select cast(3 as bigint) as id, 'anyway' as msg, 'purple' as color
{% endif %}
"""


class TestUniqueKey(test_incremental_unique_id.BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge"}}


class TestMergeExcludeColumns(test_incremental_merge_exclude_columns.BaseMergeExcludeColumns):
    pass


class TestIncrementalPredicates(test_incremental_predicates.BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {
                "+incremental_predicates": ["dbt_internal_dest.id != 2"],
                "+incremental_strategy": "merge",
            }
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"delete_insert_incremental_predicates.sql": PREDICATES_MODEL}


class TestOnSchemaChange(test_incremental_on_schema_change.BaseIncrementalOnSchemaChangeSetup):
    """Columns can be added; Delta drops one only from a table with column mapping."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge", "+unique_key": "id"}}

    def test_run_incremental_ignore(self, project: Any) -> None:
        source, target = "incremental_ignore", "incremental_ignore_target"
        self.run_twice_and_assert(f"model_a {source} {target}", source, target, project)

    def test_run_incremental_append_new_columns(self, project: Any) -> None:
        self.run_incremental_append_new_columns(project)

    def test_run_incremental_fail_on_schema_change(self, project: Any) -> None:
        select = "model_a incremental_fail"
        run_dbt(["run", "--models", select, "--full-refresh"])
        results = run_dbt(["run", "--models", select], expect_pass=False)
        assert "Compilation Error" in results[1].message

    @pytest.mark.parametrize("model", ["sync_all_columns", "sync_remove_only"])
    def test_dropping_a_column_is_refused(self, project: Any, model: str) -> None:
        select = f"model_a incremental_{model} incremental_{model}_target"
        run_dbt(["run", "--models", select, "--full-refresh"])
        results = run_dbt(["run", "--models", select], expect_pass=False)
        assert "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" in results[1].message


class TestMicrobatch(test_incremental_microbatch.BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        """dbt-spark replaces whole partitions, so it wants the batch's grain as one."""
        return """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='event_time',
          batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0),
          partition_by=['date_day']) }}
select *, cast(event_time as date) as date_day from {{ ref('input_model') }}
"""


class TestInsertOverwrite:
    """insert_overwrite replaces the partitions that the new rows fall into, and no others."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "parts.sql": """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite',
          partition_by=['part']) }}
{% if is_incremental() %} select 'new' as what, 2 as part
{% else %} select 'old' as what, part from values (1), (2) as t(part) {% endif %}
"""
        }

    def test_only_touched_partitions_are_replaced(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        rows = project.run_sql("select what, part from {schema}.parts order by part", fetch="all")
        assert [tuple(row) for row in rows] == [("old", 1), ("new", 2)]
