"""Rules and actions by dbt: the program trading application of STRIP, section 3, as a project."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.more

SCHEMA = """
version: 2
sources:
  - name: market
    schema: "{{ target.schema }}"
    tables: [{name: stocks}, {name: comps_list}, {name: comp_prices}]
"""
DO_COMPS = """
{{ config(materialized='rule', when='updated price', key='symbol') }}
{{ triggered_by(source('market', 'stocks')) }}
select comps_list.comp, comps_list.symbol, weight, old.price as old_price, new.price as new_price
from {{ source('market', 'comps_list') }} as comps_list, new, old
where comps_list.symbol = new.symbol and new.execute_order = old.execute_order
"""
COMPS = "('C1', 'S1', 0.5), ('C2', 'S1', 0.3), ('C2', 'S2', 0.7) as t(comp, symbol, weight)"
COMPUTE = """
{{ config(materialized='action', unique_on=['comp']) }}
{{ triggered_by(ref('do_comps')) }}
merge into {{ source('market', 'comp_prices') }} as t
using (select comp, sum((new_price - old_price) * weight) as diff from matches group by comp) as d
on t.comp = d.comp
when matched then update set price = t.price + d.diff, said = {{ batch('key.comp') }}
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SCHEMA, "do_comps.sql": DO_COMPS, "compute_comps.sql": COMPUTE}


class TestRules:
    def test_their_life(self, project: Any) -> None:
        run = project.run_sql
        feed = "tblproperties ('delta.enableChangeDataFeed' = true)"
        run(
            f"create table {{schema}}.stocks (symbol string, price decimal(9,2)) using delta {feed}"
        )
        run("insert into {schema}.stocks values ('S1', 30), ('S2', 40), ('S3', 50)")
        run(f"create table {{schema}}.comps_list using delta as select * from values {COMPS}")
        run("create table {schema}.comp_prices (comp string, price decimal(20,4), said string)"
            " using delta")  # fmt: skip
        run("insert into {schema}.comp_prices values ('C1', 15, ''), ('C2', 37, '')")
        results = run_dbt(["run"])
        assert [result.message for result in results][-1] == "nothing due"
        run("update {schema}.stocks set price = price + 1 where symbol = 'S1'")
        run("update {schema}.stocks set price = price - 2")
        results = run_dbt(["run"])
        assert results[-1].message == "2 batches of 4 firings"
        found = project.run_sql("select * from {schema}.comp_prices order by comp", fetch="all")
        assert [tuple(map(str, row)) for row in found] == [
            ("C1", "14.5000", "C1"),
            ("C2", "35.3000", "C2"),
        ]
        assert run_dbt(["run"])[-1].message == "nothing due"
        batches = project.run_sql(
            "select key, event, firings, rows from {schema}.compute_comps order by key, event",
            fetch="all",
        )
        assert [tuple(map(str, row)) for row in batches] == [
            ('["C1"]', "claimed", "2", "2"),
            ('["C1"]', "done", "2", "2"),
            ('["C2"]', "claimed", "2", "3"),
            ('["C2"]', "done", "2", "3"),
        ]
        assert run_dbt(["run", "--empty"])
        assert run_dbt(["build", "--full-refresh"])
        assert run_dbt(["run"])[-1].message == "nothing due"
