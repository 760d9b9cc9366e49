"""Every command acts where `dbt run` would, whatever says where that is.

The oracle is dbt: the configuration that `dbt run` with the same options makes, in the same place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.factory import FACTORY
from dbt.cli.main import dbtRunner
from dbt.config.runtime import RuntimeConfig

from dbt.adapters.tapestry.connections import TapestryConnectionManager
from tapestry.cli import main
from tapestry.cli.commands import COMMANDS
from tapestry.cli.end_command import short
from tapestry.cli.init import new_files
from tapestry.cli.main import commands
from tapestry.cli.options import DbtOptions
from tapestry.cli.project import given_instant, runtime_config
from tapestry.cli.watch import Engine
from tapestry.schedule.pool import Pool

WITHOUT_PROJECT = {"advise", "completion", "init"}
"""They read no project; every other command has dbt's options."""
WORDS: dict[str, list[str]] = {
    # what a command cannot do without; one that is not listed is run with nothing
    "adopt": ["unanswered", "--yes"],
    "explain": ["unanswered"],
    "load": ["box"],
    "replay": ["--from", "2026-01-01"],
    "rewind": ["unanswered", "--to", "2026-01-01", "--yes"],
}
PROFILES = """\
{name}:
  target: "{{{{ env_var('DBT_TARGET_NAME', 'local') }}}}"
  outputs:
    local:
      type: tapestry
      method: session
      schema: "{name}_{{{{ var('part', 'local') }}}}"
    prod:
      type: tapestry
      method: session
      schema: {name}_prod
      threads: 3
      master: "local[{{{{ env_var('DBT_CORES', '1') }}}}]"
      server_side_parameters:
        spark.sql.warehouse.dir: "{{{{ env_var('SOMEWHERE', '/nowhere') }}}}"
        password: "{{{{ env_var('DBT_ENV_SECRET_WORD', 'none') }}}}"
"""
PROJECT = """\
name: mine
version: "1.0"
profile: "{{ env_var('DBT_PROFILE_NAME', 'mine') }}"
target-path: "{{ env_var('DBT_OUT', 'target') }}"
flags: {send_anonymous_usage_stats: false, use_colors: false}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, two profiles beside it and one at home; nothing of this machine's settings."""
    for name in [name for name in os.environ if name.startswith("DBT_")]:
        monkeypatch.delenv(name)
    root = tmp_path / "mine"
    files = new_files("mine") | {"dbt_project.yml": PROJECT, "box/1.eml": "Subject: hello\n\nhello"}
    files["profiles.yml"] = PROFILES.format(name="mine") + PROFILES.format(name="second")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".env").write_text("DBT_TARGET=prod\nDBT_TARGET_NAME=prod\n")
    for folder, schema in ((tmp_path / "home/.dbt", "home"), (tmp_path / "other", "other")):
        folder.mkdir(parents=True)
        local = f"{{type: tapestry, method: session, schema: {schema}}}"
        (folder / "profiles.yml").write_text(f"mine: {{target: x, outputs: {{x: {local}}}}}")
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    return root


class Stopped(BaseException):
    """dbt has read its configuration: that is enough."""


@contextmanager
def configurations(seen: Callable[[RuntimeConfig], None]) -> Iterator[None]:
    """``seen`` gets every configuration that dbt makes, for whomever."""
    made = RuntimeConfig.from_parts.__func__  # type: ignore[attr-defined]

    def note(cls: Any, *parts: Any, **named: Any) -> RuntimeConfig:
        config: RuntimeConfig = made(cls, *parts, **named)
        if config.project_name == "mine":  # and not one of the adapter's packages
            seen(config)
        return config

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RuntimeConfig, "from_parts", classmethod(note))
        yield


def as_dbt(*arguments: str) -> dict[str, Any]:
    """Where `dbt run` would act."""
    found: list[RuntimeConfig] = []

    def stop(config: RuntimeConfig) -> None:
        found.append(config)
        raise Stopped

    with configurations(stop):
        outcome = dbtRunner().invoke(["run", "--log-level=none", *arguments])
    assert isinstance(outcome.exception, Stopped), outcome.exception
    return where(found[0])


def where(config: Any) -> dict[str, Any]:
    """All that says on which data a command acts, and where its files lie."""
    root = config.project_root
    folders = (root, config.project_target_path, config.log_path)
    return {
        "credentials": config.credentials.to_dict(),
        "profile": (config.profile_name, config.target_name, config.threads),
        "folders": [os.path.abspath(folder) for folder in folders],
        "vars": (config.vars.to_dict(), config.cli_vars),
    }


def schema_of(found: dict[str, Any]) -> str:
    return str(found["credentials"]["schema"])


Case = tuple[dict[str, str], list[str], str]
CASES: dict[str, Case] = {
    # environment and arguments; {here} is the project, {up} the folder above; the schema then
    "nothing": ({}, [], "mine_local"),
    "in the profile": ({"DBT_TARGET_NAME": "prod"}, [], "mine_prod"),
    "dbt's variable": ({"DBT_TARGET": "prod"}, [], "mine_prod"),
    "dbt's new name": ({"DBT_ENGINE_TARGET": "prod"}, [], "mine_prod"),
    "an option": ({"DBT_TARGET": "nowhere"}, ["--target", "prod"], "mine_prod"),
    "an empty variable": ({"DBT_TARGET": ""}, [], "mine_local"),
    "a secret": (
        {"DBT_TARGET": "prod", "DBT_ENV_SECRET_WORD": "open sesame", "SOMEWHERE": "/else"},
        [],
        "mine_prod",
    ),
    "a number": ({"DBT_TARGET": "prod", "DBT_CORES": "2"}, [], "mine_prod"),
    "a profile": ({"DBT_PROFILE": "second"}, [], "second_local"),
    "a profile by option": ({"DBT_PROFILE": "gone"}, ["--profile", "second"], "second_local"),
    "a profile by name": ({"DBT_PROFILE_NAME": "second"}, [], "second_local"),
    "variables": ({}, ["--vars", "{part: some, tapestry_as_of: 2026-01-01}"], "mine_some"),
    "profiles elsewhere": ({"DBT_PROFILES_DIR": "{up}/other"}, [], "other"),
    "profiles by option": ({}, ["--profiles-dir", "../other"], "other"),
    "another target folder": ({"DBT_TARGET_PATH": "out"}, [], "mine_local"),
    "its option": ({"DBT_TARGET_PATH": "gone"}, ["--target-path", "out"], "mine_local"),
    "its name": ({"DBT_OUT": "out"}, [], "mine_local"),
    "another log folder": ({"DBT_LOG_PATH": "{up}/out"}, [], "mine_local"),
    "below the project": ({"PWD_IS": "{here}/models"}, [], "home"),
    "beside the project": (
        {"PWD_IS": "{up}/other", "DBT_PROJECT_DIR": "{here}"},
        [],
        "other",
    ),
    "from afar": ({"PWD_IS": "{up}/bare"}, ["--project-dir", "{here}"], "home"),
    "all said": (
        {"PWD_IS": "{up}/bare", "DBT_PROFILES_DIR": "{here}"},
        ["--project-dir", "../mine", "--target", "prod"],
        "mine_prod",
    ),
}


def enter(case: Case, project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the environment; the arguments."""
    environment, arguments, _ = case
    for name, value in environment.items():
        text = value.format(here=project, up=project.parent)
        monkeypatch.chdir(text) if name == "PWD_IS" else monkeypatch.setenv(name, text)
    return [text.replace("{here}", str(project)) for text in arguments]


def given(arguments: list[str]) -> DbtOptions:
    """As our commands read the same arguments."""
    from tapestry.cli.options import project_options

    found: list[DbtOptions] = []

    @click.command()
    @project_options
    def command(given: DbtOptions) -> None:
        found.append(given)

    command.main(list(arguments), standalone_mode=False)
    return found[0]


@pytest.mark.parametrize("name", CASES)
def test_a_command_reads_what_dbt_run_reads(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    arguments = enter(CASES[name], project, monkeypatch)
    expected = as_dbt(*arguments)
    assert schema_of(expected) == CASES[name][2]
    config = runtime_config(given(arguments))
    assert where(config) == expected
    if name == "a secret":
        parameters = config.credentials.server_side_parameters
        assert parameters["password"] == "open sesame"
        assert parameters["spark.sql.warehouse.dir"] == "/else"
    if name == "variables":
        assert str(given_instant(config)) == "2026-01-01"


def test_profiles_of_the_project_serve_where_dbt_finds_none(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "home/.dbt/profiles.yml").unlink()
    monkeypatch.chdir(project.parent / "bare")
    config = runtime_config(DbtOptions(project_dir=str(project)))
    assert config.credentials.schema == "mine_local"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tapestry_as_of: 1", 1),
        ("mine: {tapestry_as_of: 2}\n  tapestry_as_of: 1", 2),
        ("a: 1", None),
    ],
)
def test_the_instant_that_models_see(project: Path, text: str, expected: int | None) -> None:
    (project / "dbt_project.yml").write_text(f"{PROJECT}vars:\n  {text}\n")
    assert given_instant(runtime_config(DbtOptions())) == expected


def test_the_adapter_of_a_process_stays_registered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dbt's own steps forget it, for a command of dbt's that registers its own."""
    own: Any = object()
    monkeypatch.setitem(FACTORY.adapters, "tapestry", own)
    runtime_config(DbtOptions(project_dir=str(project)))
    assert FACTORY.adapters["tapestry"] is own


def test_errors_keep_secrets_and_say_what_is_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt_common.exceptions import DbtRuntimeError

    monkeypatch.setenv("DBT_ENV_SECRET_WORD", "open sesame")
    runtime_config(DbtOptions(target="prod"))
    assert "open sesame" not in short(DbtRuntimeError("no login with open sesame"))
    assert "open sesame" not in short(ValueError("no login with open sesame"))
    with pytest.raises(click.UsageError, match=r"--project-dir.*'gone' does not exist"):
        runtime_config(DbtOptions(project_dir="gone"))
    with pytest.raises(click.UsageError, match="is not valid YAML"):
        runtime_config(DbtOptions(variables="{"))


def test_every_command_has_the_options() -> None:
    context = click.Context(commands)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        options = {option for one in command.params for option in one.opts}
        wanted = {"--project-dir", "--profiles-dir", "--profile", "--target", "-t", "--vars"}
        assert (wanted | {"--target-path"} <= options) == (name not in WITHOUT_PROJECT), name


@contextmanager
def no_spark() -> Iterator[None]:
    """Where a command would connect, it ends; the shared Spark of `watch` is none."""

    def refuse(cls: Any, connection: Any) -> Any:
        raise FailedToConnectError("no Spark here")

    def first_task(pool: Pool) -> None:
        arguments = pool._task(1).arguments  # as a worker process runs dbt with them
        assert dbtRunner().invoke(["ls", *arguments]).success
        raise FailedToConnectError("no Spark here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TapestryConnectionManager, "open", classmethod(refuse))
        patch.setattr(Engine, "start", lambda engine: None)
        patch.setattr(Pool, "start", first_task)
        yield


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - WITHOUT_PROJECT))
@pytest.mark.parametrize("case", ["nothing", "dbt's variable", "in the profile"])
@pytest.mark.more
def test_each_command(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    case: str,
) -> None:
    """The command run as it is, up to where it would connect: all that dbt is asked for is one."""
    enter(CASES[case], project, monkeypatch)
    expected = as_dbt()
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "argv", ["tapestry", name, *WORDS.get(name, [])])
    note = configurations(lambda config: seen.append(where(config)))
    with no_spark(), note, pytest.raises(SystemExit) as ended:
        main()
    said = "".join(capsys.readouterr())
    assert seen, said
    for one in [*seen, expected]:
        del one["folders"][2]  # workers of `watch` have logs of their own
    assert all(one == expected for one in seen)
    if name == "rules":  # without actions there is nothing to read
        assert ended.value.code == 0
        return
    if name not in ("report", "datadocs"):  # they need no Spark, and say that nothing has run
        assert "no Spark here" in said
    assert ended.value.code == 1
