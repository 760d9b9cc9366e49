"""`tapestry rules` used wrongly: each is refused in words, before Spark is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import tapestry

PROFILE = "mine: {target: t, outputs: {t: {type: tapestry, method: session, schema: s}}}"
WRONG = {
    ("rules", "show", "no_such/1/1"): "the project has no action no_such",
    ("rules", "show", "act"): "a batch is named by its action and two numbers",
    ("rules", "show", "act/1/1; drop table t"): "a batch is named by its action and two numbers",
    ("rules", "drop", "act/1"): "a batch is named by its action and two numbers",
    ("rules", "replay", "act/1/1", "act/x/1"): "a batch is named by its action and two numbers",
    ("rules", "replay", "act/1/" + "9" * 40): "a batch is named by its action and two numbers",
    ("rules", "run", "plain"): "plain is a view model: batches are those of actions",
    ("rules", "run", "\x1b[31mred"): "the project has no action \\x1b[31mred",
    ("rules", "--dead", "show", "act/1/1"): "--dead before `show`",
    ("rules", "--target", "t", "run", "act"): "--target before `run`",
    ("rules", "drop"): "Missing argument 'BATCH...'",
    ("rules", "forget"): "No such command 'forget'",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    (tmp_path / "profiles.yml").write_text(PROFILE)
    (tmp_path / "models/plain.sql").write_text("select 1 as one")
    (tmp_path / "models/act.sql").write_text("{{ config(materialized='action') }} delete from t")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_it_is_refused(project: Path, words: tuple[str, ...]) -> None:
    done = tapestry(*words)
    assert done.exit_code != 0
    assert WRONG[words] in f"{done.output}{done.exception}"
