"""dbt again and again in one process, on DuckDB: every run is like the first one."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import pytest

from tapestry.runs.context.clock import ENVIRONMENT
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Warm, first_failure, new_rows

from .small import make_project

GOOD = ["loaded", "kept", "big", "pointing"]


@pytest.fixture
def warm(tmp_path: Path) -> Warm:
    return Warm(make_project(tmp_path))


def test_the_third_run_is_like_the_first(warm: Warm) -> None:
    """Ephemeral models and foreign keys are what a kept manifest spoils."""
    parsed = warm.manifest
    for _ in range(3):
        ran = warm.run(GOOD)
        assert first_failure(ran) is None, ran
        assert {one.model: one.status for one in ran} == {
            "loaded": OK,
            "big": OK,
            "pointing": OK,
        }
    assert warm.manifest is parsed


def test_the_instant_holds_for_one_invocation(
    warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "before")
    warm.run(["loaded", "big"], datetime(2026, 1, 2, tzinfo=timezone.utc))
    assert os.environ[ENVIRONMENT] == "before"
    with duckdb.connect(str(tmp_path / "it.duckdb")) as database:
        assert database.sql("select as_of from big").fetchall() == [("2026-01-02T00:00:00+00:00",)]


def test_a_failure_is_told_and_the_others_go_on(warm: Warm) -> None:
    ran = warm.run()
    status = {one.model: one.status for one in ran}
    assert status["broken"] == FAILED
    assert status["after_broken"] == SKIPPED
    assert status["pointing"] == OK
    failed = first_failure(ran)
    assert failed is not None
    assert "no_such_column" in failed.message
    assert "broken" not in new_rows(ran)


def test_what_cannot_be_parsed_is_raised(tmp_path: Path) -> None:
    arguments = make_project(tmp_path)
    (tmp_path / "models/kept.sql").write_text("select * from {{ ref('gone') }}")
    with pytest.raises(Exception, match="'gone' which was not found"):
        Warm(arguments).run()


def test_what_dbt_would_select(warm: Warm, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(node.name for node in warm.selected()) == [
        *("after_broken", "big", "broken", "loaded", "pointing"),
    ]
    assert [node.name for node in warm.selected(["--select", "big", "kept"])] == ["big"]
    assert warm.selected(["--select", "nothing"]) == []
    assert capsys.readouterr().out == ""


def test_a_model_in_a_folder_of_its_name_is_selected_alone(tmp_path: Path) -> None:
    arguments = make_project(tmp_path)
    for name in ("loaded/loaded", "loaded/beside"):
        (tmp_path / f"models/{name}.sql").parent.mkdir(exist_ok=True)
        (tmp_path / f"models/{name}.sql").write_text("select 1 as id, now() as ts")
    (tmp_path / "models/loaded.sql").unlink()
    assert [one.model for one in Warm(arguments).run(["loaded"])] == ["loaded"]


def test_versions_of_a_model_are_models(tmp_path: Path) -> None:
    arguments = make_project(tmp_path)
    for version in (1, 2):
        (tmp_path / f"models/told_v{version}.sql").write_text(f"select {version} as n")
    (tmp_path / "models/told.yml").write_text(
        "{models: [{name: told, latest_version: 2, versions: [{v: 1}, {v: 2}]}]}"
    )
    warm = Warm(arguments)
    assert [one.model for one in warm.run(["told.v1"])] == ["told.v1"]
    assert sorted(one.model for one in warm.run(["told.v1", "told.v2"])) == ["told.v1", "told.v2"]


def test_what_refers_to_itself_is_collected_now_and_then(
    warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would leave Spark's sessions alone for dozens of invocations."""
    collected = []
    monkeypatch.setattr("tapestry.schedule.warm.COLLECT_EVERY", 2)
    monkeypatch.setattr("tapestry.schedule.warm.gc.collect", lambda: collected.append(True))
    for after in (0, 1, 1, 2):
        warm.run(["loaded"])
        assert len(collected) == after
