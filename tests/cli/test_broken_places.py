"""Every command where something is missing or broken: one clear message, no traceback, a code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.marks import more

from tapestry.cli import main
from tapestry.cli.init import new_files

COMMANDS = (
    ["explain", "unanswered"],
    ["explain", "--sql", "select 1"],
    ["eject"],
    ["load", "box"],
    ["rewind", "unanswered", "--to", "2026-01-01", "--yes"],
    ["adopt", "unanswered", "--yes"],
    ["deliver"],
    ["replay", "--from", "2026-01-01"],
    ["watch", "--for", "1s"],
)

AS_OF = "{tapestry_as_of: 2026-01-01}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, and nothing of this machine's settings."""
    for path, text in new_files("mine").items():
        target = tmp_path / "mine" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    root = tmp_path / "mine"
    (root / "box").write_bytes(b"")
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    return root


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    monkeypatch.setattr(sys, "argv", ["tapestry", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert "bug of ours" not in shown.err
    return int(ended.value.code or 0), shown.out, shown.err


def no_java(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(root / "no_java_here"))
    # Other tests of this process may have started a Spark, which needs no Java any more.
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)


def no_profile(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "profiles.yml").unlink()


def no_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dbt_project.yml").unlink()


def other_profile(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "profiles.yml").write_text("other: {target: x, outputs: {x: {type: tapestry}}}")


def other_adapter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = "{type: spark, method: session, schema: s, host: x}"
    (root / "profiles.yml").write_text(f"mine: {{target: x, outputs: {{x: {output}}}}}")


def broken_yaml(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dbt_project.yml").write_text("name: [mine\nprofile: mine\n")


def broken_model(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "models/unanswered.sql").write_text("select * from {{ ref('gone') }}")


def broken_jinja(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "models/unanswered.sql").write_text("select {{ 1")


PLACES = [
    (no_java, 1, "do: install Java 17 or 21", "java"),
    (no_profile, 2, "there is no profiles.yml", "profile"),
    (no_project, 2, "no dbt_project.yml here", "project"),
    (other_profile, 2, "Could not find profile named 'mine'", "profile"),
    (other_adapter, 2, "use `type: tapestry`", "profile"),
    (broken_yaml, 2, "dbt_project.yml", "project"),
    (broken_model, 1, "'gone' which was not found", "models"),
    (broken_jinja, 1, "unexpected end of template", "models"),
]
NAMES = [place.__name__ for place, *_ in PLACES]


@pytest.mark.parametrize(
    ("place", "code", "message", "check"),
    [more(*one) if one[0] in (broken_jinja, no_java) else one for one in PLACES],
    ids=NAMES,
)
def test_commands(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place,  # type: ignore[no-untyped-def]
    code: int,
    message: str,
    check: str,
) -> None:
    place(project, monkeypatch)
    for command in COMMANDS:
        if place in (broken_model, broken_jinja) and command[0] == "load":
            continue  # it reads no models
        got, _, error = run(monkeypatch, capsys, *command)
        assert (command, got) == (command, code)
        assert message in error
        assert len(error.strip().splitlines()) <= 9
    got, output, _ = run(monkeypatch, capsys, *COMMANDS[0], "--json")
    assert got == code
    told = json.loads(output)["error"]
    assert told["reason"]
    assert not told["hint"].startswith("do:")
    if "do: " in message:
        assert told["hint"].startswith(message.removeprefix("do: "))


@pytest.mark.parametrize(
    ("place", "check"), [(place, check) for place, _, _, check in PLACES[:6]], ids=NAMES[:6]
)
def test_the_doctor_finds_it_and_says_how_to_fix_it(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place,  # type: ignore[no-untyped-def]
    check: str,
) -> None:
    place(project, monkeypatch)
    code, output, _ = run(monkeypatch, capsys, "doctor", "--json")
    assert code == 1
    wrong = [f for f in json.loads(output)["findings"] if f["status"] == "wrong"]
    assert [finding["check"] for finding in wrong] == [check]
    assert wrong[0]["fix"]
    code, output, _ = run(monkeypatch, capsys, "doctor")
    assert f"✗ {check}" in output
    assert "fix:" in output
    assert "\x1b[" not in output


def test_an_empty_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (project / "models").iterdir():
        path.unlink()
    code, _, error = run(monkeypatch, capsys, "explain", "unanswered")
    assert (code, "the project has no models yet" in error) == (2, True)
    code, _, error = run(monkeypatch, capsys, "eject")
    assert (code, "no continuous or maintained models" in error) == (2, True)
    code, _, error = run(monkeypatch, capsys, "replay", "--from", "2026-01-01")
    assert (code, "there is nothing to replay" in error) == (2, True)
    code, _, error = run(monkeypatch, capsys, "watch")
    assert (code, "there is nothing to run" in error) == (2, True)


def test_wrong_names_have_near_ones(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, near in (
        (["explain", "unansered"], "did you mean unanswered?"),
        (["eject", "unansered"], "did you mean unanswered?"),
        (["eject", "--dialect", "postgre"], "did you mean postgres?"),
        (["eject", "messages"], "is not continuous or maintained but incremental"),
        (["rewind", "unansered", "--to", "2026-01-01"], "did you mean unanswered?"),
        (["rewind", "messages", "--to", "2026-01-01"], "is not a continuous or maintained model"),
        (["adopt", "messages"], "is not a continuous or maintained model"),
        (["deliver", "messages"], "is not a continuous or maintained model"),
        (["replay", "--from", "soon"], "--from: 'soon' is not an instant"),
        (["replay", "--from", "2026-02-01", "--to", "2026-01-01"], "lies before --from"),
        (["replay", "--from", "2026-01-01", "--to", "2999-01-01"], "lies in the future"),
        (["replay", "--from", "2026-01-01", "--step", "daily"], "not a length of time"),
        (["replay", "--from", "2026-01-01", "--vars", "{"], "is not valid YAML"),
        (["replay", "--from", "2026-01-01", "-s", "messages"], "there is nothing to replay"),
        (["replay", "--from", "2026-01-01", "--vars", AS_OF], "would end at the same instant"),
        (["watch", "--every", "often"], "--every: 'often' is not a length of time"),
        (["watch", "--every", "0s"], "--every: '0s' is too short"),
        (["watch", "--for", "ever"], "not a length of time"),
        (["watch", "--vars", AS_OF], "would end at the same instant"),
        (["watch", "--select", "unansered"], "there is nothing to run"),
    ):
        code, _, error = run(monkeypatch, capsys, *command)
        assert (command, code) == (command, 2)
        assert near in error


def test_watch_refuses_what_it_cannot_mean(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TAPESTRY_AS_OF", "2026-01-01")
        code, _, error = run(monkeypatch, capsys, "watch")
    assert (code, "unset TAPESTRY_AS_OF" in error) == (2, True)
    file = project / "models/models.yml"
    file.write_text(file.read_text().replace("{arrival: ts}", "{arrival: ts, every: often}"))
    code, _, error = run(monkeypatch, capsys, "watch")
    assert (code, "every: 'often' is not a length of time" in error) == (2, True)
    assert "models/messages.sql" in error


def test_init_only_in_an_empty_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(monkeypatch, capsys, "init")
    assert (code, "the folder is not empty" in error) == (2, True)
    code, output, _ = run(monkeypatch, capsys, "init", "Shop 2", "--json")
    assert (code, json.loads(output)["project"]) == (0, "shop_2")
    assert (project / "Shop 2/models/unanswered.sql").is_file()


@pytest.mark.parametrize("content", [b"name: [\n", b"\xff\xfe", b"a: b: c"])
@pytest.mark.parametrize("profiles", [True, False])
def test_a_project_file_that_is_no_yaml(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    profiles: bool,
) -> None:
    (project / "dbt_project.yml").write_bytes(content)
    if not profiles:
        for file in project.rglob("profiles.yml"):
            file.unlink()
    code, _, said = run(monkeypatch, capsys, "explain", "unanswered")
    assert code == 2
    assert "no valid YAML" in said
    assert "dbt_project.yml" in said
