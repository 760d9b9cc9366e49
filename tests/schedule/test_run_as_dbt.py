"""`tapestry run` takes what dbt takes: a selector, a state, --defer, --fail-fast."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.cli.main import dbtRunner
from tests.command import tapestry

from tapestry.schedule.by_priority import FAST

PROJECT = {
    "dbt_project.yml": "{name: asdbt, profile: asdbt, version: '1.0', config-version: 2,"
    " flags: {send_anonymous_usage_stats: false}}",
    "models/base.sql": "select 1 as id",
    "models/urgent.sql": "{{ config(priority=7) }} select id from {{ ref('base') }}",
    "models/plain.sql": "select id from {{ ref('urgent') }}",
    "models/broken.sql": "{{ config(materialized='table', priority=9, enabled=var('broken', false))"
    " }} select no_such_column from (select 1 as id) as one",
    "models/seldom.sql": "{{ config(priority=-3) }} select id from {{ ref('base') }}",
    "selectors.yml": "selectors: [{name: often, definition: {union: ['plain', 'urgent', 'base']}}]",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    outputs = ", ".join(
        f"{name}: {{type: duckdb, path: '{tmp_path}/it.duckdb', schema: {name}}}"
        for name in ("dev", "prod")
    )
    (tmp_path / "profiles.yml").write_text(f"asdbt: {{target: dev, outputs: {{{outputs}}}}}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tapestry.cli.project.TYPE", "duckdb")
    return tmp_path


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = tapestry("run", "--json", *arguments)
    assert done.stdout.startswith("{"), (done.exception, done.output)
    return done.exit_code, json.loads(done.stdout)


def became(told: dict[str, Any]) -> dict[str, str]:
    return {one["model"]: one["status"] for one in told["models"]}


def test_a_selector(project: Path) -> None:
    code, told = run("--selector", "often")
    assert code == 0
    assert [one["models"] for one in told["priorities"]] == [["base", "urgent"], ["plain"]]
    code, told = run("--selector=often", "--exclude", "plain")
    assert code == 0, told


def test_state_and_defer(project: Path) -> None:
    """What is not modified is read where the state was built; what was, where it is built now."""
    assert dbtRunner().invoke(["run", "--target", "prod", "--log-level", "none"]).success
    shutil.copytree(project / "target", project / "state")
    for name in ("urgent", "plain"):
        path = project / f"models/{name}.sql"
        path.write_text(path.read_text().replace("select id", "select id + 1 as id"))
    chosen = ("--select", "state:modified", "--state", "state")
    code, told = run(*chosen, "--defer")
    assert (code, became(told)) == (0, {"urgent": "ok", "plain": "ok"})
    assert [one["priority"] for one in told["priorities"]] == [7, 0]
    with duckdb.connect(str(project / "it.duckdb")) as connection:
        assert connection.execute("select id from dev.plain").fetchall() == [(3,)]
        tables = connection.execute(
            "select table_name from information_schema.tables where table_schema = 'dev'"
        ).fetchall()
        connection.execute("drop view dev.plain")
        connection.execute("drop view dev.urgent")
    assert sorted(name for (name,) in tables) == ["plain", "urgent"]
    code, told = run(*chosen, "--no-defer")
    assert (code, became(told)) == (1, {"urgent": "failed", "plain": "skipped"})


@pytest.mark.parametrize("how", ["option", "environment"])
def test_fail_fast(project: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "environment":
        monkeypatch.setenv("DBT_FAIL_FAST", "true")
    code, told = run("--vars={broken: true}", *["--fail-fast"] * (how == "option"))
    assert code == 1
    assert told["priorities"][0]["models"] == ["broken"]
    others = dict.fromkeys(("base", "urgent", "plain", "seldom"), "skipped")
    assert became(told) == {"broken": "failed", **others}
    assert {one["message"] for one in told["models"] if one["status"] == "skipped"} == {FAST}


def test_without_it_the_others_go_on(project: Path) -> None:
    code, told = run("--vars={broken: true}")
    assert code == 1
    assert sorted(became(told).values()) == ["failed", *["ok"] * 4]


def test_favor_state_is_for_one_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dbtRunner().invoke(["run", "--target", "prod", "--log-level", "none"]).success
    shutil.copytree(project / "target", project / "state")
    monkeypatch.setenv("DBT_FAVOR_STATE", "true")
    done = tapestry("run", "--state", "state", "--defer")
    assert done.exit_code != 0
    assert "favor_state" in str(done.exception)
