"""How a command ends: one short message, and an exit code that scripts can use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tapestry.cli import main


def _exit(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tapestry", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box = tmp_path / "box"
    box.write_bytes(b"")
    assert _exit(monkeypatch, "--version") == 0
    assert _exit(monkeypatch, "load") == 2
    assert _exit(monkeypatch, "nothing") == 2
    assert _exit(monkeypatch, "load", str(box), "--project-dir", str(tmp_path)) == 2
    shown = capsys.readouterr().err
    assert "no dbt_project.yml here" in shown
    assert "Traceback" not in shown


def test_a_profile_of_another_adapter_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    output = "{type: spark, method: session, schema: s, host: x}"
    (tmp_path / "profiles.yml").write_text(f"mine: {{target: x, outputs: {{x: {output}}}}}\n")
    (tmp_path / "box").write_bytes(b"")
    options = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    assert _exit(monkeypatch, "load", str(tmp_path / "box"), *options) == 2
    assert "type: tapestry" in capsys.readouterr().err
