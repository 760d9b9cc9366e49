"""`tapestry queries` between real dbt runs: a model that is off is skipped, and covers the gap."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from dbt.cli.main import dbtRunner
from tests.command import tapestry
from tests.dbt_runs.small_project import small_project

FILES = {
    "dbt_project.yml": "{name: switched, profile: p, config-version: 2, models: {+verify: full}}",
    "profiles.yml": "p: {target: t, outputs: {t: {type: tapestry, method: session,"
    " schema: switched, threads: 2}}}",
    "models/sources.yml": """
version: 2
sources:
  - name: switched
    tables: [{name: messages, config: {loaded_at_field: ts}}]
""",
    "models/old.sql": """
{{ config(materialized='continuous', priority=10,
          pre_hook="insert into switched.hooks values ('old')") }}
select m.id from {{ source('switched', 'messages') }} m where now() >= m.ts + interval 1 day
""",
    "models/below.sql": "{{ config(materialized='continuous') }} select id from {{ ref('old') }}",
    "models/beside.sql": "{{ config(materialized='continuous') }}"
    " select id from {{ source('switched', 'messages') }}",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, embedded_spark: Any) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("switched")
    with small_project(root, FILES, embedded_spark, "switched") as made:
        made.sql("create table switched.messages (id int, ts timestamp) using delta")
        made.sql("create table switched.hooks (model string) using delta")
        yield made


def queries(*arguments: str) -> Result:
    return tapestry("queries", *arguments)


def listed() -> dict[str, dict[str, Any]]:
    done = queries("--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return {one["name"]: one for one in json.loads(done.stdout)}


def dbt(*arguments: str) -> dict[str, Any]:
    """What dbt says of each model; every one succeeds."""
    done = dbtRunner().invoke([*arguments, "--quiet"])
    assert done.success, done.exception or [r.message for r in done.result.results]
    return {result.node.name: result for result in done.result.results}


def rows(spark: Any, model: str) -> list[tuple[int, str]]:
    found = spark.sql(
        f"select id, date_format(_matched_at, 'MM-dd HH') from switched.{model} order by 1"
    )
    return [tuple(row) for row in found.collect()]


def test_off_twice_on_and_the_gap_is_covered(spark: Any, as_of: Callable[[str], None]) -> None:
    spark.sql("insert into switched.messages values (1, timestamp'2026-01-01')")
    as_of("2026-01-02T12:00:00Z")
    dbt("run")
    assert listed()["old"]["priority"] == 10
    assert all(one["active"] and one["since"] for one in listed().values())

    done = queries("--off", "old", "--why", "its 'source' is \x1b[31mbroken\n; drop")
    assert done.exit_code == 0, (done.output, done.exception)
    assert done.stdout == "old: switched off: its 'source' is \\x1b[31mbroken\\n; drop\n"
    assert not listed()["old"]["active"]
    hooks = spark.sql("select * from switched.hooks").count()
    spark.sql("insert into switched.messages values (2, timestamp'2026-01-02')")
    for day in ("2026-01-04", "2026-01-05"):
        as_of(f"{day}T00:00:00Z")
        found = dbt("run", "--full-refresh") if day[-1] == "4" else dbt("build")
        assert found["old"].message == "switched off: its 'source' is \x1b[31mbroken ; drop"
        assert found["old"].adapter_response["code"] == "switched off"
        assert rows(spark, "old") == [(1, "01-02 00")]
    assert spark.sql("select * from switched.hooks").count() == hooks, "no hook has run"
    assert rows(spark, "beside") == [(1, "01-01 00"), (2, "01-02 00")]
    assert rows(spark, "below") == [(1, "01-02 00")], "it stops at what it reads"

    assert dbt("run", "--select", "old")["old"].message.startswith("switched off")
    assert queries("--on", "old").stdout == "old: switched on\n"
    dbt("run")
    assert rows(spark, "old") == [(1, "01-02 00"), (2, "01-03 00")], "as if it had never been off"
    assert rows(spark, "below") == rows(spark, "old")
    assert spark.sql("select * from switched.tapestry_queries").count() == 3


def test_a_change_of_the_project_resets_no_switch(spark: Any, as_of: Callable[[str], None]) -> None:
    as_of("2026-01-06T00:00:00Z")
    queries("--off", "beside", "--why", "costs too much")
    since = listed()["beside"]["since"]
    model = Path("models/beside.sql")
    model.write_text(model.read_text().replace("'continuous'", "'continuous', priority=-3"))
    dbt("run")
    found = spark.sql("select * from switched.tapestry_queries where model = 'switched.beside'")
    ((_, _, priority, active, why, _),) = found.collect()
    assert (priority, active, why) == (-3, False, "costs too much")
    assert listed()["beside"]["since"] == since
    assert list(listed()) == ["old", "below", "beside"], "the greatest priority first"
    queries("--on", "beside")


def test_an_odd_row_stops_its_own_model(spark: Any, as_of: Callable[[str], None]) -> None:
    as_of("2026-01-07T00:00:00Z")
    spark.sql("update switched.tapestry_queries set active = null where model = 'switched.old'")
    done = dbtRunner().invoke(["run", "--quiet"])
    said = {result.node.name: result for result in done.result.results}
    assert "whether switched.old is switched off cannot be read: active is null" in str(
        said["old"].message
    )
    assert "tapestry queries --on" in str(said["old"].message)
    assert said["beside"].status == "success"
    shown = queries()
    assert shown.exit_code == 1
    assert "active is null" in shown.stderr
    assert queries("--on", "old").exit_code == 0
    assert dbt("retry")["old"].status == "success"


def test_a_table_that_is_gone_or_is_not_ours(spark: Any, as_of: Callable[[str], None]) -> None:
    as_of("2026-01-08T00:00:00Z")
    queries("--off", "beside", "--why", "for a while")
    spark.sql("drop table switched.tapestry_queries")
    assert dbt("run")["beside"].message == "nothing new", "every model is active again"
    assert len(listed()) == spark.sql("select * from switched.tapestry_queries").count()

    spark.sql("drop table switched.tapestry_queries")
    spark.sql("create table switched.tapestry_queries (model string) using parquet")
    dbt("run")
    refused = queries("--off", "beside", "--why", "for a while")
    assert refused.exit_code == 1
    assert "is not the table that runs made" in str(refused.exception)
    spark.sql("drop table switched.tapestry_queries")
