"""What is said where a process has a Spark with another warehouse: once a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from dbt.adapters.tapestry import embedded


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    logger: Any = MagicMock()
    logger.warning = found.append
    monkeypatch.setattr(embedded, "logger", logger)
    embedded._said.clear()
    return found


def _running(folder: Path) -> Any:
    context = MagicMock()
    context._jsc.sc().conf().get.return_value = f"file:{folder}"
    return context


def test_once_a_command(said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = _running(tmp_path / "a" / "warehouse")
    for command in ("one", "two"):
        monkeypatch.setattr(embedded, "get_invocation_id", lambda command=command: command)
        for _ in range(3):  # each thread opens a connection
            embedded._warn_of_other_warehouse(running, {}, tmp_path / "b")
    assert len(said) == 2
    assert "a process of its own" in said[0].lower()


def test_a_link_to_the_same_folder_is_no_other(said: list[str], tmp_path: Path) -> None:
    (tmp_path / "a" / "warehouse").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    embedded._warn_of_other_warehouse(_running(tmp_path / "a" / "warehouse"), {}, tmp_path / "link")
    assert not said
