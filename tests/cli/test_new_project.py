"""A new project on an embedded Spark: init, dbt run, explain, doctor, eject, as one would."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from tests.command import tapestry
from tests.small_data import SMALL_DATA

pytestmark = [pytest.mark.spark, pytest.mark.gate]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The new project after two runs."""
    from dbt.adapters.tapestry import embedded

    root = tmp_path_factory.mktemp("new") / "shop"
    before = Path.cwd()
    assert tapestry("init", str(root)).exit_code == 0
    spark = embedded.start(SMALL_DATA, root=root)
    os.chdir(root)
    try:
        for _ in range(2):
            outcome = dbtRunner().invoke(["run"])
            assert outcome.success, outcome.exception
        yield root
    finally:
        os.chdir(before)
        spark.sql("drop schema if exists shop cascade")


def as_json(*arguments: str) -> dict[str, Any]:
    done = tapestry(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)  # nothing else stands there


@pytest.fixture
def in_two_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run's window reaches the instant at which the newest message turns a minute old."""
    later = datetime.now(timezone.utc) + timedelta(minutes=2)
    monkeypatch.setenv("TAPESTRY_AS_OF", later.isoformat())


def test_explain_a_model(project: Path, in_two_minutes: None) -> None:
    told = as_json("explain", "unanswered")
    assert told["strategy"] == "anti_join"
    assert [step["name"] for step in told["steps"]] == [
        *("query", "resolve_names", "normalize_subqueries"),
        *("solve_time_atoms", "to_standard_form", "first_instant", "split_by_bound"),
    ]
    assert told["window"]["supposed"] is False
    assert told["window"]["tau"] < told["window"]["t"]
    reads = {(read["place"], read["alias"]): read for read in told["reads"]}
    branch = reads["the only branch", "m"]
    assert branch["narrowed"]
    assert branch["source"] == "shop.messages"
    # of the loader's files only that of the second run has messages that turn a minute old now
    assert branch["files"] == 1 < branch["of_files"]
    assert 0 < branch["bytes"] < branch["of_bytes"]
    assert reads["the only branch, not exists", "r"]["files"] == branch["of_files"]
    assert any('assume: ["r.ts >= m.ts"]' in line for line in told["advice"])


def test_what_the_last_run_said_stays(project: Path) -> None:
    """`dbt retry` and the report go by it."""
    results = project / "target/run_results.json"
    before = results.read_bytes()
    assert json.loads(before)["args"]["which"] == "run"
    for command in (["explain", "unanswered"], ["verify"], ["deliver"], ["eject"]):
        assert tapestry(*command).exit_code == 0
    assert results.read_bytes() == before


def test_explain_reads_well(project: Path, in_two_minutes: None) -> None:
    output = tapestry("explain", "unanswered").output
    assert "What the run over this window reads now" in output
    assert "│ 1 of " in output
    assert "\x1b[" not in output, "no colours where nobody looks at a terminal"


def test_explain_a_query_that_is_no_model(project: Path) -> None:
    told = as_json("explain", "--sql", "select id from {{ ref('messages') }} where now() > ts")
    assert told["file"] == "given with --sql"
    assert told["strategy"] == "bounds"
    assert told["window"]["supposed"] is True


def test_a_refused_query_is_explained_up_to_the_step_that_refuses(project: Path) -> None:
    counted = "select author, count(*) as n from {{ ref('messages') }} group by author"
    assert tapestry("explain", "--sql", counted).exit_code == 0
    sql = "select author, mode(id) as n from {{ ref('messages') }} group by author"
    done = tapestry("explain", "--sql", sql)
    assert done.exit_code == 1
    assert "1. query" in done.output
    assert "refused by refuse_inexact" in done.output
    told = json.loads(tapestry("explain", "--sql", sql, "--json").stdout)
    assert told["refused"]["hint"]
    assert len(told["steps"]) == 2


def test_doctor_finds_nothing_wrong(project: Path) -> None:
    told = as_json("doctor")
    assert told["wrong"] == 0
    checks = {finding["check"]: finding for finding in told["findings"]}
    assert checks["source shop.messages"]["told"] == "rows arrive at ts (timestamp)"
    assert checks["storage"]["status"] == "ok"
    assert "hard links" in checks["storage"]["told"]
    assert checks["time zone"]["told"] == "UTC"


def test_doctor_finds_a_source_that_says_nothing_of_its_arrival(project: Path) -> None:
    file = project / "models/models.yml"
    text = file.read_text()
    file.write_text(text.replace("meta: {arrival: ts}", "meta: {}"))
    try:
        done = tapestry("doctor")
    finally:
        file.write_text(text)
    assert done.exit_code == 1
    assert "✗ source shop.messages" in done.output
    assert "meta: {arrival: ts}" in done.output


def test_eject_from_the_new_project(project: Path, tmp_path: Path) -> None:
    told = as_json("eject", "--dialect", "duckdb", "--into", str(tmp_path / "plain"))
    assert told["models"] == ["unanswered"]
    assert told["needs"] == ["model messages"]
    text = (tmp_path / "plain/models/unanswered.sql").read_text()
    assert "{% if is_incremental() and tau is not none %}" in text
    assert "FROM {{ ref('messages') }}" in text
    again = tapestry("eject", "--dialect", "duckdb", "--into", str(tmp_path / "plain"))
    assert again.exit_code == 1  # raised: what `tapestry` itself shows as an error of usage
    assert "--overwrite" in again.exception.hint  # type: ignore[union-attr]


def test_verify_the_tables(project: Path) -> None:
    """Right tables pass at both levels."""
    for options in ((), ("--full",), ("unanswered", "--full")):
        done = tapestry("verify", *options, "--json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout[done.stdout.index("[\n") :])
        assert {row["check"] for row in found} == {"enough", "not_too_much"}
        assert {row["status"] for row in found} == {"pass"}
    assert "unanswered: enough (" in tapestry("verify").output
    assert tapestry("verify", "no_such_model").exit_code != 0


def test_verify_passes_over_what_has_not_run(project: Path) -> None:
    """The others are looked at; who names it wants to know."""
    file = project / "models/always_later.sql"
    config = "{{ config(materialized='continuous') }}"
    file.write_text(config + " select m.msgid from {{ ref('messages') }} m")
    try:
        done = tapestry("verify")
        assert done.exit_code == 0, done.output
        assert "always_later: has not run yet" in done.output
        assert "unanswered: not too much (" in done.output
        named = tapestry("verify", "always_later", "unanswered")
    finally:
        file.unlink()
    assert named.exit_code == 1
    assert "unanswered: not too much (" in named.output
    assert "always_later has not run yet" in str(named.exception)


def test_verify_what_somebody_else_did(project: Path) -> None:
    """The last test here: from then on a run refuses to go on."""
    from dbt.adapters.tapestry import embedded

    spark = embedded.start(SMALL_DATA, root=project)
    spark.sql("delete from shop.unanswered where author = 'cid'")
    done = tapestry("verify", "--full")
    assert done.exit_code == 1
    assert "unanswered: NOT enough: 1 missing" in done.output
    assert "author = cid" in done.output
    assert "unanswered was written by somebody else: DELETE" in str(done.exception)
