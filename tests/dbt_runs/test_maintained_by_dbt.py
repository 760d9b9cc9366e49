"""Maintained models by dbt: over tables that say nothing of arrival, and over each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from tests.command import tapestry_on

pytestmark = pytest.mark.more

SCHEMA = """
version: 2
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: orders}, {name: customers}]
models:
  - name: revenue
    columns: [{name: customer, tests: [unique]}]
"""
REVENUE = """
{{ config(materialized='maintained', refresh='incremental', verify='full') }}
select c.id as customer, c.region, count(o.id) as orders, sum(o.amount) as revenue
from {{ source('shop', 'customers') }} c
left join {{ source('shop', 'orders') }} o on o.customer = c.id
group by c.id, c.region
"""
REGIONS = """
{{ config(materialized='maintained', refresh='incremental', verify='full') }}
select region, sum(revenue) as revenue from {{ ref('revenue') }} group by region
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SCHEMA, "revenue.sql": REVENUE, "regions.sql": REGIONS}


def rows(project: Any, name: str) -> list[tuple[Any, ...]]:
    found = project.run_sql(f"select * from {{schema}}.{name}", fetch="all")
    return sorted(tuple(row) for row in found)


class TestMaintained:
    def test_its_life(self, project: Any, as_of: Callable[[str], None]) -> None:
        run = project.run_sql
        run("create table {schema}.orders (id int, customer int, amount int) using delta")
        run("create table {schema}.customers (id int, region string) using delta")
        run("insert into {schema}.customers values (1, 'n'), (2, 's')")
        run("insert into {schema}.orders values (1, 1, 10), (2, 1, 5), (3, 2, 7)")
        as_of("2026-01-11")
        run_dbt(["run", "--empty"])
        assert rows(project, "revenue") == []
        results = run_dbt(["run"])
        assert {result.adapter_response["code"] for result in results} == {"create"}
        assert rows(project, "revenue") == [(1, "n", 2, 15), (2, "s", 1, 7)]
        assert [result.message for result in run_dbt(["run"])] == ["nothing new"] * 2
        run("update {schema}.orders set customer = 2 where id = 2")
        run("delete from {schema}.orders where id = 3")
        as_of("2026-01-12")
        results = run_dbt(["build"])
        said = [result.message for result in results if result.node.resource_type == "model"]
        assert said == ["0 inserted, 2 updated, 0 deleted; incremental"] * 2
        assert rows(project, "revenue") == [(1, "n", 1, 10), (2, "s", 1, 5)]
        assert rows(project, "regions") == [("n", 10), ("s", 5)]
        explained = json.loads(tapestry_on(project, "explain", "revenue", "--json").output)
        assert [step["name"] for step in explained["steps"]] == ["answer", "sums", "keys", "rows"]
        checked = json.loads(tapestry_on(project, "verify", "revenue", "--json").output)
        assert {row["check"]: row["status"] for row in checked} == {
            "enough": "pass",
            "not_too_much": "pass",
        }
        cost = json.loads(tapestry_on(project, "explain", "revenue", "--cost", "--json").output)
        assert [run["action"] for run in cost["runs"]] == ["append", "create", "create"]
        for run in cost["runs"]:
            parts = dict(run["seconds"])
            whole = parts.pop("all")
            assert parts.pop("plan") > 0
            assert whole - 0.01 < sum(parts.values()) < whole + 0.01
        run_dbt(["run", "--full-refresh"])
        assert rows(project, "regions") == [("n", 10), ("s", 5)]
