"""A derived table by dbt: its rows computed again by an action, its drift found and told."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.more

SOURCES = """
version: 2
sources:
  - name: market
    schema: "{{ target.schema }}"
    tables: [{name: stocks}, {name: comps_list}]
"""
PRICES = """
{{ config(materialized='derived', key='comp', on_target_change='warn') }}
select comp, sum(price * weight) as price from {{ source('market', 'stocks') }}
join {{ source('market', 'comps_list') }} using (symbol) group by comp
"""
DO_COMPS = """
{{ config(materialized='rule', when='updated price', key='symbol') }}
{{ triggered_by(source('market', 'stocks')) }}
select comps_list.comp from {{ source('market', 'comps_list') }} as comps_list, new
where comps_list.symbol = new.symbol
"""
COMPUTE = """
{{ config(materialized='action', unique_on=['comp']) }}
{{ triggered_by(ref('do_comps')) }}
{{ recompute(ref('comp_prices')) }}
"""
COMPS = "('C1', 'S1', 2), ('C2', 'S1', 3), ('C2', 'S2', 7), ('C3', 'S3', 1)"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "sources.yml": SOURCES,
        "comp_prices.sql": PRICES,
        "do_comps.sql": DO_COMPS,
        "compute_comps.sql": COMPUTE,
    }


class TestDerived:
    def test_its_life(self, project: Any) -> None:
        run = project.run_sql
        feed = "tblproperties ('delta.enableChangeDataFeed' = true)"
        run(f"create table {{schema}}.stocks (symbol string, price int) using delta {feed}")
        run("insert into {schema}.stocks values ('S1', 30), ('S2', 40), ('S3', 50)")
        run("create table {schema}.comps_list (comp string, symbol string, weight int) using delta")
        run(f"insert into {{schema}}.comps_list values {COMPS}")
        run_dbt(["run"])
        run("update {schema}.stocks set price = 31 where symbol = 'S1'")
        run_dbt(["run"])
        assert self.prices(project) == [("C1", 62), ("C2", 373), ("C3", 50)]
        run_dbt(["run"])
        run("update {schema}.comp_prices set price = 7 where comp = 'C3'")
        results = run_dbt(["run"], expect_pass=False)
        told = {result.node.name: str(result.message) for result in results}
        assert "differs from its query" in told["comp_prices"]
        assert '{"comp":"C3","price":7}' in told["comp_prices"]
        assert str(self.status(results, "compute_comps")) == "skipped"
        checks = run(
            "select violations, status from {schema}.tapestry_checks where kind = 'drift'"
            " order by ended_at desc limit 1",
            fetch="all",
        )
        assert [tuple(row) for row in checks] == [(1, "fail")]
        run_dbt(["run", "--full-refresh", "-s", "comp_prices"])
        run_dbt(["run"])
        assert self.prices(project) == [("C1", 62), ("C2", 373), ("C3", 50)]

    def prices(self, project: Any) -> list[tuple[Any, ...]]:
        found = project.run_sql(
            "select comp, price from {schema}.comp_prices order by comp", fetch="all"
        )
        return [(row[0], int(row[1])) for row in found]

    def status(self, results: Any, name: str) -> Any:
        return next(result.status for result in results if result.node.name == name)
