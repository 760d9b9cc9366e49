"""Actions in Python by dbt: the options of STRIP, section 3, and a service outside."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from tapestry.actions import call_price

pytestmark = pytest.mark.more

SCHEMA = """
version: 2
sources:
  - name: market
    schema: "{{ target.schema }}"
    tables: [{name: stocks}, {name: options_list}, {name: stock_stdev}, {name: calls}]
"""
DO_OPTIONS = """
{{ config(materialized='rule', when='updated price', key='symbol') }}
{{ triggered_by(source('market', 'stocks')) }}
select option_symbol, stock_symbol, strike, exp, new.price as new_price, commit_time,
       commit_version, execute_order
from {{ source('market', 'options_list') }} as options_list, new
where options_list.stock_symbol = new.symbol
"""
OPTION_PRICES = """
{{ config(materialized='derived') }}
select option_symbol, cast(0 as double) as price from {{ source('market', 'options_list') }}
"""
COMPUTE = '''
"""Prices of options."""


def model(dbt, session):
    dbt.config(
        materialized="action", unique_on=["stock_symbol"], writes="option_prices",
        merge_on=["option_symbol"],
    )
    from tapestry.actions import black_scholes, last_per

    dbt.ref("option_prices")
    matches = last_per(dbt.ref("do_options"), "option_symbol")
    stdev = dbt.source("market", "stock_stdev").withColumnRenamed("symbol", "stock_symbol")
    return matches.join(stdev, "stock_symbol").select(
        "option_symbol", black_scholes("new_price", "strike", "exp", "stdev").alias("price")
    )
'''
TELL = """
def model(dbt, session):
    dbt.config(materialized="action", unique=True, attempts=3, backoff="0 seconds")
    from tapestry.actions import batch

    symbols = [row.stock_symbol for row in dbt.ref("do_options").collect()]
    one = batch()
    session.createDataFrame(
        [(one.idempotency_key, one.attempt, len(symbols))], "key string, attempt int, n int"
    ).write.insertInto(dbt.config.get("calls"))
    if one.attempt < 3:
        raise OSError("the service does not answer")
    return None
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "schema.yml": SCHEMA
        + """
models:
  - name: tell
    config: {calls: "{{ target.schema }}.calls"}
""",
        "do_options.sql": DO_OPTIONS,
        "option_prices.sql": OPTION_PRICES,
        "compute_options.py": COMPUTE,
        "tell.py": TELL,
    }


class TestPythonActions:
    def test_their_life(self, project: Any) -> None:
        feed = "tblproperties ('delta.enableChangeDataFeed' = true)"
        for text in (
            f"create table {{schema}}.stocks (symbol string, price double) using delta {feed}",
            "insert into {schema}.stocks values ('S1', 100), ('S2', 50), ('S3', 7)",
            "create table {schema}.options_list using delta as select * from values"
            " ('O1', 'S1', 90D, 0.5D), ('O2', 'S1', 110D, 1D), ('O3', 'S2', 50D, 1D)"
            " as t(option_symbol, stock_symbol, strike, exp)",
            "create table {schema}.stock_stdev using delta as select * from values"
            " ('S1', 0.2D), ('S2', 0.4D) as t(symbol, stdev)",
            "create table {schema}.calls (key string, attempt int, n int) using delta",
        ):
            project.run_sql(text)
        assert [str(one.status) for one in run_dbt(["run"])] == ["success"] * 4
        project.run_sql("update {schema}.stocks set price = price + 1 where symbol = 'S1'")
        project.run_sql("update {schema}.stocks set price = price + 1")
        results = {one.node.name: one.message for one in run_dbt(["run"])}
        assert results["compute_options"] == "2 batches of 3 firings"
        assert results["tell"] == "0 batches of 0 firings, 1 failed"
        found = project.run_sql("select * from {schema}.option_prices order by 1", fetch="all")
        wanted = {
            "O1": call_price(102, 90, 0.5, 0.2),
            "O2": call_price(102, 110, 1, 0.2),
            "O3": call_price(51, 50, 1, 0.4),
        }
        assert dict(found) == pytest.approx({name: float(price) for name, price in wanted.items()})
        for message in ("0 batches of 0 firings, 1 failed", "1 batch of 2 firings", "nothing due"):
            results = {one.node.name: one.message for one in run_dbt(["run", "-s", "tell"])}
            assert results == {"tell": message}
        calls = project.run_sql("select * from {schema}.calls order by attempt", fetch="all")
        assert [(attempt, n) for _, attempt, n in calls] == [(1, 5), (2, 5), (3, 5)]
        assert len({key for key, _, _ in calls}) == 1
        assert run_dbt(["build", "--full-refresh"])
        assert run_dbt(["run", "--empty"])
