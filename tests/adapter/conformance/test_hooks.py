"""Hooks before and after runs, models, seeds and snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks import fixtures, test_model_hooks, test_run_hooks
from dbt.tests.util import check_table_does_not_exist, run_dbt

pytestmark = pytest.mark.conformance

COLUMNS = (
    "test_state",
    "target_dbname",
    "target_host",
    "target_name",
    "target_schema",
    "target_type",
    "target_user",
    "target_pass",
    "target_threads",
    "run_started_at",
    "invocation_id",
    "thread_id",
)


def _create(project: Any, table: str) -> None:
    columns = ", ".join(f"{name} string" for name in COLUMNS)
    project.run_sql(f"create or replace table {project.test_schema}.{table} ({columns})")


def _check(project: Any, table: str, state: str, count: int = 1) -> None:
    """As many rows as hooks ran, each knowing where and when it ran."""
    sql = f"select * from {project.test_schema}.{table} where test_state = '{state}'"
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in project.run_sql(sql, fetch="all")]
    assert len(rows) == count
    for row in rows:
        assert row["target_name"] == "default"
        assert row["target_schema"] == project.test_schema
        assert row["target_threads"] == "2"
        assert row["target_type"] == "tapestry"
        assert row["run_started_at"]
        assert row["invocation_id"]
        assert row["thread_id"]


class OnModels:
    """The suite compares with the values of a PostgreSQL profile; these are ours."""

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        _create(project, "on_model_hook")

    def check_hooks(self, state: str, project: Any, host: Any, count: int = 1) -> None:
        _check(project, "on_model_hook", state, count)


class TestModelHooks(OnModels, test_model_hooks.BasePrePostModelHooks):
    pass


class TestHookRefs(OnModels, test_model_hooks.BaseHookRefs):
    pass


class TestHooksInConfig(OnModels, test_model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestHooksInConfigWithCount(OnModels, test_model_hooks.BasePrePostModelHooksInConfigWithCount):
    pass


class TestHooksInConfigKwargs(OnModels, test_model_hooks.BasePrePostModelHooksInConfigKwargs):
    pass


class TestHooksOnSeeds(test_model_hooks.BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(test_model_hooks.BaseHooksRefsOnSeeds):
    pass


class TestHooksOnSeedsPlusPrefixed(test_model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestHooksOnSnapshots(test_model_hooks.BasePrePostModelHooksOnSnapshots):
    pass


class TestSnapshotHooksInConfigKwargs(test_model_hooks.BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooks(test_model_hooks.BaseDuplicateHooksInConfigs):
    pass


class TestRunHooks:
    """After the suite's BasePrePostRunHooks, whose SQL and values are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"before-and-after.sql": fixtures.macros__before_and_after}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"hooks.sql": fixtures.models__hooks}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"example_seed.csv": fixtures.seeds__example_seed_csv}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        schema = "{{ target.schema }}"
        return {
            "on-run-start": [
                "{{ custom_run_hook('start', target, run_started_at, invocation_id) }}",
                f"create table {schema}.start_order ( id int )",
                f"drop table {schema}.start_order",
            ],
            "on-run-end": [
                "{{ custom_run_hook('end', target, run_started_at, invocation_id) }}",
                f"create or replace table {schema}.schemas ( name string )",
                f"insert into {schema}.schemas values "
                "{% for schema in schemas %}('{{ schema }}'){% endfor %}",
            ],
        }

    @pytest.mark.parametrize("command", ["run", "seed"])
    def test_hooks_run_in_their_order(self, project: Any, command: str) -> None:
        _create(project, "on_run_hook")
        run_dbt([command])
        _check(project, "on_run_hook", "start")
        _check(project, "on_run_hook", "end")
        check_table_does_not_exist(project.adapter, "start_order")
        rows = project.run_sql(f"select name from {project.test_schema}.schemas", fetch="all")
        assert [row[0] for row in rows] == [project.test_schema]


class TestAfterRunHooks(test_run_hooks.BaseAfterRunHooks):
    pass
