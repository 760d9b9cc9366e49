"""What the commands say of rules and actions, beside real dbt runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from tests.command import tapestry
from tests.dbt_runs.small_project import small_project

pytestmark = pytest.mark.more

FILES = {
    "dbt_project.yml": "{name: seen, profile: p, config-version: 2,"
    " flags: {send_anonymous_usage_stats: false}}",
    "profiles.yml": "p: {target: t, outputs: {t: {type: tapestry, method: session,"
    " schema: seen, threads: 2}}}",
    "models/sources.yml": """
version: 2
sources:
  - name: seen
    tables: [{name: stocks}, {name: comps_list}, {name: comp_prices}, {name: log}]
""",
    "models/do_comps.sql": """
{{ config(materialized='rule', when='updated price', key='symbol', after='1 hour') }}
{{ triggered_by(source('seen', 'stocks')) }}
select comps_list.comp, comps_list.symbol, weight, old.price as old_price, new.price as new_price
from {{ source('seen', 'comps_list') }} as comps_list, new, old
where comps_list.symbol = new.symbol and new.execute_order = old.execute_order
""",
    "models/compute_comps.sql": """
{{ config(materialized='action', unique_on=['comp']) }}
{{ triggered_by(ref('do_comps')) }}
merge into {{ source('seen', 'comp_prices') }} as t
using (select comp, sum((new_price - old_price) * weight) as diff from matches group by comp) as d
on t.comp = d.comp
when matched then update set price = t.price + d.diff
""",
    "models/unit_tests.yml": """
unit_tests:
  - name: a_price_moves
    model: do_comps
    given:
      - input: source('seen', 'stocks')
        rows:
          - {symbol: S1, price: 30, _change_type: update_preimage, _commit_version: 7}
          - {symbol: S1, price: 31, _change_type: update_postimage, _commit_version: 7}
          - {symbol: S2, price: 40, _change_type: update_preimage, _commit_version: 8}
          - {symbol: S2, price: 40, _change_type: update_postimage, _commit_version: 8}
          - {symbol: S2, price: 40, _change_type: update_preimage, _commit_version: 9,
             _commit_timestamp: 2026-01-01 12:00:00}
          - {symbol: S2, price: 44, _change_type: update_postimage, _commit_version: 9,
             _commit_timestamp: 2026-01-01 12:00:00}
      - input: source('seen', 'comps_list')
        rows:
          - {comp: C1, symbol: S1, weight: 0.5}
          - {comp: C2, symbol: S2, weight: 0.7}
    expect:
      rows:
        - {comp: C1, symbol: S1, weight: 0.5, old_price: 30, new_price: 31, _commit_version: 7}
        - {comp: C2, symbol: S2, weight: 0.7, old_price: 40, new_price: 44, _commit_version: 9}
  - name: its_time
    model: two_conditions
    given:
      - input: source('seen', 'stocks')
        rows:
          - {symbol: S1, price: 3, _change_type: insert, _commit_version: 1,
             _commit_timestamp: 2026-01-01 12:00:00}
          - {symbol: S2, price: 30, _change_type: insert, _commit_version: 2,
             _commit_timestamp: 2026-01-02 12:00:00}
    expect:
      rows:
        - {symbol: S2, _commit_time: 2026-01-02 12:00:00}
  - name: wrong
    model: do_comps
    given:
      - input: source('seen', 'stocks')
        rows: [{symbol: S1, price: 30, _change_type: update_preimage}]
      - input: source('seen', 'comps_list')
        rows: [{comp: C1, symbol: S1, weight: 0.5}]
    expect:
      rows: [{comp: C1}]
""",
    "models/two_conditions.sql": """
{{ config(materialized='rule', when='inserted', if=['big', 'matches']) }}
{{ triggered_by(source('seen', 'stocks')) }}
with big as (select 1 as one from inserted where price > 5)
select symbol from inserted
""",
    "models/breaks.sql": """
{{ config(materialized='action', attempts=1) }}
{{ triggered_by(ref('do_comps')) }}
insert into {{ source('seen', 'log') }}
select comp from matches where raise_error('it is <broken>') is null
""",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, embedded_spark: Any) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("seen")
    with small_project(root, FILES, embedded_spark, "seen") as made:
        made.sql("create table seen.stocks (symbol string, price decimal(9,2)) using delta"
                 " tblproperties ('delta.enableChangeDataFeed' = true)")  # fmt: skip
        made.sql("insert into seen.stocks values ('S1', 30), ('S2', 40)")
        made.sql("create table seen.comps_list using delta as select * from values"
                 " ('C1', 'S1', 0.5), ('C2', 'S1', 0.3), ('C2', 'S2', 0.7)"
                 " as t(comp, symbol, weight)")  # fmt: skip
        made.sql("create table seen.comp_prices (comp string, price decimal(20,4)) using delta")
        made.sql("insert into seen.comp_prices values ('C1', 15), ('C2', 37)")
        made.sql("create table seen.log (comp string) using delta")
        yield made


def told(*arguments: str) -> Any:
    done = tapestry(*arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def dbt(*arguments: str) -> dict[str, str]:
    done = dbtRunner().invoke([*arguments, "--quiet"])
    assert done.exception is None, done.exception
    return {result.node.name: str(result.message) for result in done.result.results}


def newest_bound() -> list[str]:
    """What `dbt show` says of the rule."""
    done = dbtRunner().invoke(["show", "-s", "do_comps", "--output", "json", "--quiet"])
    assert done.success, done.result.results[0].message
    table = done.result.results[0].agate_table
    return sorted(f"{row['comp']} {row['symbol']} {row['_commit_version']}" for row in table.rows)


def steps(name: str) -> dict[str, dict[str, str]]:
    return {step["name"]: step for step in told("explain", name)["steps"]}


def prices(spark: Any) -> list[tuple[str, str]]:
    found = spark.sql("select comp, price from seen.comp_prices order by comp").collect()
    return [tuple(map(str, row)) for row in found]


def test_before_and_after_commits(spark: Any) -> None:
    before = steps("do_comps")
    assert "the next run finds no commit" in before["changes"]["why"]
    assert "has not run yet" in steps("compute_comps")["rules"]["why"]
    assert [row["position"] for row in told("rules")["rules"]] == [None, None]
    dbt("run")
    spark.sql("update seen.stocks set price = price + 1 where symbol = 'S1'")
    spark.sql("insert into seen.comps_list values ('C3', 'S1', 0.9)")
    spark.sql("update seen.stocks set price = price - 2")

    shown = steps("do_comps")
    assert "versions 2 to 3" in shown["changes"]["why"]
    assert "paired by symbol" in shown["changes"]["why"]
    assert "each version read once" in shown["table seen.comps_list"]["why"]
    listed = {"_changes": "changes", "_triggers": "triggers", "matches": "matches"}
    views = ", ".join(f"{view} as ({shown[name]['sql']})" for view, name in listed.items())
    fired = spark.sql(
        f"with {views} select comp, symbol, _instant from matches order by all"
    ).collect()
    assert [tuple(row) for row in fired] == [
        ("C1", "S1", 2), ("C1", "S1", 3), ("C2", "S1", 2), ("C2", "S1", 3), ("C2", "S2", 3),
        ("C3", "S1", 3),
    ]  # fmt: skip
    assert told("rules")["rules"][0]["behind"] == 2
    assert newest_bound() == ["C1 S1 3", "C2 S1 3", "C2 S2 3", "C3 S1 3"]
    spark.sql("insert into seen.stocks values ('S9', 1)")
    assert newest_bound() == ["C1 S1 3", "C2 S1 3", "C2 S2 3", "C3 S1 3"], "it fires no update"
    spark.sql("delete from seen.stocks where symbol = 'S9'")
    refused = dbtRunner().invoke(["show", "-s", "compute_comps", "--quiet"])
    assert "its statements write, and are never only shown" in str(refused.exception)
    assert prices(spark) == [("C1", "15.0000"), ("C2", "37.0000")]


def test_unit_tests_of_rules(spark: Any) -> None:
    done = dbtRunner().invoke(["test", "--select", "test_type:unit", "--quiet"])
    found = {one.node.name: (str(one.status), one.message) for one in done.result.results}
    assert found["a_price_moves"][0] == "pass", found
    assert found["its_time"][0] == "pass", found
    assert found["wrong"][0] != "pass", found


def test_what_waits_is_told_and_executed(spark: Any) -> None:
    assert dbt("run", "--exclude", "breaks two_conditions")["compute_comps"] == "nothing due"
    seen = told("rules")
    of_comps = next(row for row in seen["rules"] if row["action"] == "seen.compute_comps")
    assert (of_comps["position"], of_comps["behind"]) == (5, 0)
    assert (of_comps["pending_batches"], of_comps["pending_rows"]) == (3, 6)
    assert of_comps["next_release"]
    assert seen["batches"] == []
    assert told("rules", "--due")["batches"] == []
    shown = steps("compute_comps")
    assert "Rows with the same comp" in shown["batches"]["why"]
    assert "3 batches wait" in shown["batches"]["why"]
    assert "seen.comp_prices" in shown["writes"]["why"]
    assert "exactly once" in shown["how"]["why"]
    assert spark.sql(f"explain {shown['statement']['sql']}")

    assert told("rules", "run", "compute_comps")["said"] == "nothing due"
    assert told("rules", "run", "compute_comps", "--now")["said"] == "3 batches of 5 firings"
    assert prices(spark) == [("C1", "14.5000"), ("C2", "35.3000")]
    assert told("rules", "run", "compute_comps", "--now")["said"] == "nothing due"


def test_dead_batches_are_shown_replayed_and_dropped(spark: Any) -> None:
    done = tapestry("rules", "run", "breaks", "--now")
    assert done.exit_code == 1
    assert "tapestry rules replay breaks/1/1" in str(done.exception)
    dead = told("rules", "--dead")["batches"]
    assert [one["batch"] for one in dead] == ["breaks/1/1", "breaks/1/2"]
    assert "it is <broken>" in dead[0]["error"]
    assert told("rules", "--failed")["batches"] == []
    found = told("rules", "show", "breaks/1/2")
    assert found["tables"]["matches"]["told"] == "4 rows"
    assert found["tables"]["matches"]["columns"][:2] == ["comp", "symbol"]
    assert (
        len(told("rules", "show", "breaks/1/2", "--limit", "1")["tables"]["matches"]["rows"]) == 1
    )
    assert "C3" in tapestry("rules", "show", "breaks/1/2").output
    wrong = tapestry("rules", "replay", "breaks/1/1", "breaks/9/9")
    assert "not dead" in str(wrong.exception)
    assert len(told("rules", "--dead")["batches"]) == 2, "nothing is done where one is wrong"
    assert told("rules", "replay", "breaks/1/1")["said"] == [
        "breaks/1/1: the next run of breaks executes it as breaks/2/1"
    ]
    assert told("rules", "drop", "breaks/1/2")["said"] == ["breaks/1/2: dropped"]
    left = told("rules")["batches"]
    assert [(one["batch"], one["event"]) for one in left] == [("breaks/2/1", "claimed")]
    assert "breaks/2/1" in tapestry("rules").output
    (due,) = told("rules", "--due")["batches"]
    assert due["batch"] == "breaks/2/1"
