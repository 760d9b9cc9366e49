"""`tapestry run` on Spark: several runs of dbt at one instant; what `tapestry network` shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command import tapestry
from tests.dbt_runs.small_project import small_project

FILES = {
    "dbt_project.yml": "{name: ordered, profile: p, config-version: 2, models: {+verify: 'off'}}",
    "profiles.yml": "p: {target: t, outputs: {t: {type: tapestry, method: session,"
    " schema: ordered, threads: 2}}}",
    "models/sources.yml": """
version: 2
sources:
  - name: ordered
    tables: [{name: messages, config: {loaded_at_field: ts}}]
""",
    "models/first.sql": "{{ config(materialized='continuous') }}"
    " select id, ts from {{ source('ordered', 'messages') }}",
    "models/urgent.sql": "{{ config(materialized='continuous', priority=7) }}"
    " select id from {{ ref('first') }}",
    "models/later.sql": "{{ config(materialized='continuous') }}"
    " select count(*) as n from {{ source('ordered', 'messages') }}",
    "models/seldom.sql": "{{ config(materialized='table', priority=-5) }}"
    " select count(*) as n from {{ ref('urgent') }}",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, embedded_spark: Any) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("ordered")
    with small_project(root, FILES, embedded_spark, "ordered") as made:
        made.sql("create table ordered.messages (id int, ts timestamp) using delta")
        made.sql("insert into ordered.messages values (1, timestamp'2026-01-01')")
        yield made


def ran(*arguments: str) -> dict[str, Any]:
    done = tapestry("run", "--json", *arguments)
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "exit": done.exit_code}


def test_three_priorities_at_one_instant(spark: Any) -> None:
    told = ran()
    assert told["exit"] == 0
    assert [one["priority"] for one in told["priorities"]] == [7, 0, -5]
    assert told["priorities"][0]["models"] == ["first", "urgent"]
    assert {one["status"] for one in told["models"]} == {"ok"}
    ends = spark.sql("select distinct t from ordered.tapestry_runs").count()
    assert ends == 1
    results = json.loads(Path("target/run_results.json").read_text())["results"]
    assert sorted(one["unique_id"].split(".")[-1] for one in results) == sorted(
        name.split("/")[1].removesuffix(".sql") for name in FILES if name.endswith(".sql")
    )


def test_one_priority_is_one_dbt_run(spark: Any) -> None:
    told = ran("--select", "first later", "--threads", "1")
    assert (told["as_of"], told["priorities"], told["exit"]) == (None, [], 0)
    assert {one["message"] for one in told["models"]} == {"nothing new"}


def test_a_failure_is_told_and_what_reads_it_is_skipped(spark: Any) -> None:
    model = Path("models/urgent.sql")
    good = model.read_text()
    spark.sql("insert into ordered.messages values (2, timestamp'2026-01-02')")
    model.write_text(good.replace("select id", "select no_such_column"))
    try:
        done = tapestry("run")
    finally:
        model.write_text(good)
    assert done.exit_code == 1
    assert "4 models to 2" in done.stdout
    assert "in 3 runs: 2 done (2 rows), 1 failed (urgent), 1 skipped (seldom)" in done.stdout


def test_the_network(spark: Any) -> None:
    tapestry("queries", "--off", "later", "--why", "too dear")
    shown = tapestry("network")
    assert shown.exit_code == 0, shown.exception
    first = shown.stdout.splitlines()[0]
    assert first.startswith("ordered.messages  [source]  2 rows, 2 files, ")
    assert "later  [continuous]  switched off, " in shown.stdout
    assert "ordered.urgent  [continuous]  priority 7, bounds, " in shown.stdout
    told = json.loads(tapestry("network", "urgent", "--json").stdout)
    assert [node["name"].split(".")[1] for node in told["nodes"]] == [
        *("messages", "first", "seldom", "urgent"),
    ]
    assert tapestry("network", "--html", "out/net.html").stdout == "network: out/net.html\n"
    assert "too dear" in Path("out/net.html").read_text()
    wrong = tapestry("network", "urgnt")
    assert wrong.exit_code != 0
    assert "did you mean urgent?" in str(wrong.exception)
