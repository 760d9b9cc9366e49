"""`tapestry replay` on Spark: the steps, what a second start does, the same tables as one run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from dbt.adapters.factory import reset_adapters
from tests.command import tapestry

from dbt.adapters.tapestry import invocations
from tapestry.runs.context.recall import Recall
from tapestry.runs.protocol import crash

FILES = {
    "dbt_project.yml": "{name: replayed, profile: p, config-version: 2, models: {+verify: 'off'}}",
    "profiles.yml": "p: {target: t, outputs: {t: {type: tapestry, method: session,"
    " schema: replayed, threads: 2}}}",
    "models/sources.yml": """
version: 2
sources:
  - name: replayed
    tables: [{name: messages, config: {loaded_at_field: ts}}]
""",
    "models/recent.sql": "{{ config(materialized='ephemeral') }}"
    " select id, ts from {{ source('replayed', 'messages') }} where id > 0",
    "models/old.sql": """
{{ config(materialized='continuous') }}
select m.id from {{ ref('recent') }} m
where now() >= m.ts + interval 1 day
  and not exists (select 1 from {{ source('replayed', 'messages') }} r where r.parent = m.id)
""",
    "models/all_of_them.sql": "{{ config(materialized='continuous') }}"
    " select id from {{ source('replayed', 'messages') }}",
    "models/how_many.sql": "select count(*) as n from {{ ref('old') }}",
}
ROWS = ", ".join(
    f"({i}, {'null' if i % 3 else i - 1}, timestamp'2026-01-0{1 + i // 4} 0{i % 4}:00:00')"
    for i in range(16)
)
RANGE = ("--from", "2026-01-02", "--to", "2026-01-04 12:00", "--step", "1d")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, embedded_spark: Any) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("replayed")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    before = Path.cwd()
    os.chdir(root)
    embedded_spark.sql("create schema replayed")
    embedded_spark.sql(
        "create table replayed.messages (id int, parent int, ts timestamp) using delta"
    )
    embedded_spark.sql(f"insert into replayed.messages values {ROWS}")
    yield embedded_spark
    os.chdir(before)
    reset_adapters()  # a replay keeps its adapter for as long as its process lives
    embedded_spark.sql("drop schema replayed cascade")


def replay(*arguments: str) -> Result:
    return tapestry("replay", *RANGE, *arguments)


def told(done: Result) -> list[dict[str, Any]]:
    assert done.exit_code == 0, (done.output, done.exception)
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(spark: Any, model: str) -> list[tuple[Any, ...]]:
    found = spark.sql(f"select id, unix_micros(_matched_at) from replayed.{model} order by 1, 2")
    return [tuple(row) for row in found.collect()]


def test_steps_then_nothing_then_again(spark: Any) -> None:
    steps = told(replay("--json"))
    assert [step["until"][:13] for step in steps] == [
        *("2026-01-02T00", "2026-01-03T00", "2026-01-04T00", "2026-01-04T12"),
    ]
    assert [step["since"] is None for step in steps] == [True, False, False, False]
    assert [step["new"]["all_of_them"] for step in steps] == [5, 4, 4, 3]
    assert sum(step["new"]["old"] for step in steps) == len(rows(spark, "old")) > 0
    assert all("how_many" in step["new"] for step in steps)
    stepped = {name: rows(spark, name) for name in ("old", "all_of_them")}

    assert told(replay("--json")) == [], "every step is complete"
    assert "4 of 4 steps are complete already" in replay().output

    one = told(replay("--json", "--full-refresh", "--step", "100d"))
    assert [step["step"] for step in one] == [1, 2]
    assert {name: rows(spark, name) for name in stepped} == stepped


def test_a_failing_model_ends_it_and_the_same_command_goes_on(spark: Any) -> None:
    model = Path("models/old.sql")
    good = model.read_text()
    spark.sql("drop table if exists replayed.old")
    spark.sql("drop table if exists replayed.all_of_them")
    model.write_text(good.replace("r.parent", "r.no_such_column"))
    try:
        done = replay("--json")
    finally:
        model.write_text(good)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "old failed in the step to 2026-01-02" in str(done.exception)
    done = replay("--select", "config.materialized:continuous", "--step", "2d")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("1/3 to 2026-01-02 00:00:00: ")
    assert "what each step delivered" in done.output
    assert "│   3 │ 2026-01-04 … 2026-01-04 12:00 │" in done.output
    assert [number for number, _ in rows(spark, "all_of_them")] == list(range(16))


def test_a_run_that_was_killed_in_a_window_over_several_steps(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty windows write nothing, so that the next one begins where the last rows were."""
    spark.sql("drop table if exists replayed.old")
    spark.sql("drop table if exists replayed.all_of_them")
    range_ = ("--from", "2025-12-01", "--to", "2026-01-04 12:00", "--step", "10d")

    def killed(name: str) -> None:
        if name == "ready" and known.get("done", 0) >= 2:
            raise RuntimeError("as if it had been killed here")
        known["done"] = known.get("done", 0) + (name == "ready")

    known: dict[str, int] = {}
    only = ("--select", "config.materialized:continuous")
    monkeypatch.setattr(crash, "point", killed)
    first = tapestry("replay", *range_, *only)
    monkeypatch.undo()
    assert first.exit_code != 0
    assert "4/5 to 2025-12-31" in first.output
    assert "5/5" not in first.output
    monkeypatch.setattr(invocations, "_recall", Recall())  # a process remembers nothing of another
    again = tapestry("replay", *range_, *only)
    assert again.exit_code == 0, again.output
    assert len(rows(spark, "all_of_them")) == 16


def test_a_model_that_is_ahead_is_left_out(spark: Any) -> None:
    spark.sql("drop table if exists replayed.old")
    done = replay("--select", "config.materialized:continuous", "--step", "100d")
    assert done.exit_code == 0
    assert done.output.startswith("all_of_them has run to 2026-01-04 12:00:00: left out until then")
    assert len(rows(spark, "all_of_them")) == 16
