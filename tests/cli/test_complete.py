"""Names are completed on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tapestry.cli.main import commands


def test_names_of_models_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complete = ShellComplete(commands, {}, "tapestry", "_TAPESTRY_COMPLETE")
    assert complete.get_completions(["explain"], "un") == []
    nodes = {
        "a": {"name": "unanswered", "config": {"materialized": "continuous"}},
        "b": {"name": "unions", "config": {"materialized": "view"}},
    }
    (tmp_path / "target").mkdir()
    (tmp_path / "target/manifest.json").write_text(json.dumps({"nodes": nodes}))
    found = complete.get_completions(["explain"], "un")
    assert [item.value for item in found] == ["unanswered"]


def test_dialects_are_completed() -> None:
    complete = ShellComplete(commands, {}, "tapestry", "_TAPESTRY_COMPLETE")
    found = complete.get_completions(["eject", "--dialect"], "du")
    assert "duckdb" in [item.value for item in found]
    assert all(item.value.startswith("du") for item in found)
