"""How a command ends: one short message, and an exit code that scripts can use."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from dbt.exceptions import DbtProfileError
from dbt_common.exceptions import DbtRuntimeError

from tapestry.cli import main
from tapestry.cli.commands import COMMANDS
from tapestry.cli.end_command import end_with
from tapestry.cli.main import commands
from tapestry.errors import ConcurrentRun, ConfigurationError, Refusal


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


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example_and_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert _exit(monkeypatch, name, "--help") == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"tapestry {name}" in shown
    assert "--json" in shown


def test_a_misspelt_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit(monkeypatch, "laod") == 2
    assert "Did you mean load?" in capsys.readouterr().err


def test_errors_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "box").write_bytes(b"")
    options = ["--project-dir", str(tmp_path), "--json"]
    assert _exit(monkeypatch, "load", str(tmp_path / "box"), *options) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "ConfigurationError"
    assert "--project-dir" in error["hint"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConcurrentRun("two at once"), 3),
        (ConfigurationError("wrong"), 2),
        (DbtProfileError("no profile"), 2),
        (DbtRuntimeError("broken"), 1),
        (Refusal("cannot be kept", "select rand()", "leave it out", code="nondeterministic"), 1),
        (ZeroDivisionError("a bug"), 1),
        (click.Abort(), 1),
    ],
)
def test_how_errors_end(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert end_with(error, as_json=False, debug=False) == code
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert ("bug of ours" in shown) == isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert _exit(monkeypatch, "completion", shell) == 0
    assert "_TAPESTRY_COMPLETE" in capsys.readouterr().out


def test_what_the_shell_completes() -> None:
    complete = ShellComplete(commands, {}, "tapestry", "_TAPESTRY_COMPLETE")
    assert "load" in [item.value for item in complete.get_completions([], "lo")]
    assert "--json" in [item.value for item in complete.get_completions(["load"], "--j")]
