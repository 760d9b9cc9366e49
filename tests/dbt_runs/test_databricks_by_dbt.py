"""A project written for Databricks, by dbt: its materialized views run, its streaming tables say
what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture
from tests.dbt_runs.test_maintained_and_other_kinds import SOURCE
from tests.dbt_runs.test_maintained_by_dbt import rows

pytestmark = pytest.mark.more

VIEW = """
{{ config(materialized='materialized_view', partition_by='day', tags=['gold'],
          schedule={'cron': '0 0 * * * ? *', 'time_zone_value': 'UTC'},
          on_configuration_change='%s') }}
select day, sum(amount) as revenue%s from {{ source('shop', 'orders') }} group by day
"""
STREAM = "{{ config(materialized='streaming_table') }} select * from {{ source('shop', 'orders') }}"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    view = VIEW % ("fail", "")
    again = view.replace("'fail'", "'apply'")
    return {"schema.yml": SOURCE, "by_day.sql": view, "again.sql": again, "all_rows.sql": STREAM}


class TestOfDatabricks:
    def test_its_life(self, project: Any, as_of: Callable[[str], None]) -> None:
        run = project.run_sql
        run("create table {schema}.orders (id int, day int, amount int) using delta")
        run("insert into {schema}.orders values (1, 1, 10), (2, 1, 5), (3, 2, 7)")
        as_of("2026-01-11")
        views = ["run", "--exclude", "all_rows"]
        results, told = run_dbt_and_capture(views)
        assert {result.adapter_response["code"] for result in results} == {"create"}
        assert rows(project, "by_day") == [(1, 15), (2, 7)]
        assert told.count("schedule does nothing on this kind of model (maintained)") == 1
        detail = run("describe detail {schema}.by_day", fetch="all")[0]
        assert ["day"] in list(detail)
        run("delete from {schema}.orders where id = 2")
        as_of("2026-01-12")
        run_dbt(views)
        assert rows(project, "by_day") == [(1, 10), (2, 7)]

        path = f"{project.project_root}/models/by_day.sql"
        for on_change, status in (("fail", "error"), ("continue", "success")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(VIEW % (on_change, ", count(*) as orders"))
            results, told = run_dbt_and_capture(
                ["run", "--select", "by_day"], expect_pass=status == "success"
            )
            assert [str(result.status) for result in results] == [status]
            assert ("continue notwithstanding" in told) is (on_change == "continue")
        assert rows(project, "by_day") == [(1, 10, 1), (2, 7, 1)]

        # the same table under our own word, and back: nothing to do
        text = VIEW % ("apply", ", count(*) as orders")
        for name in ("maintained", "materialized_view"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("materialized_view", name).replace("schedule", "meta"))
            (result,) = run_dbt(["run", "--select", "by_day"])
            assert result.message == "nothing new"

        (result,) = run_dbt(["run", "--select", "all_rows"], expect_pass=False)
        assert "materialized='continuous'" in result.message
