"""The dbt project that a command works on: its profile, and a session on its data."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import click

from tapestry.errors import ConfigurationError
from tapestry.folders import dbt_folder

Command = TypeVar("Command", bound=Callable[..., Any])
PROJECT_FILE = "dbt_project.yml"


@dataclass(frozen=True)
class Project:
    """An open project: ``session`` speaks SQL (`run`, `rows`), ``schema`` is the target's.

    ``config`` is dbt's runtime configuration: profile, target, paths.
    """

    root: Path
    schema: str
    session: Any
    config: Any = None


def project_options(command: Command) -> Command:
    """dbt's own options for where the project and its profile are."""
    for option in (
        click.option("--target", "-t", help="Target of the profile (dbt's --target)."),
        click.option("--profiles-dir", type=click.Path(path_type=Path), help="dbt's own."),
        click.option(
            "--project-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("."),
            help="Folder of dbt_project.yml; the current one by default.",
        ),
    ):
        command = option(command)
    return command


def selection_options(command: Command) -> Command:
    """dbt's own options for which models, and the variables they read."""
    for option in (
        click.option("--vars", "variables", metavar="YAML", help="dbt's own."),
        click.option("--exclude", multiple=True, help="dbt's own; can be given several times."),
        click.option(
            "--select", "-s", multiple=True, help="dbt's own; can be given several times."
        ),
    ):
        command = option(command)
    return command


@contextmanager
def open_project(
    project_dir: Path,
    profiles_dir: Path | None = None,
    target: str | None = None,
    variables: str | None = None,
) -> Iterator[Project]:
    """Connect as dbt would, with the same profile; closed at the end."""
    # dbt costs a second to import: only a command that needs it pays.
    from dbt.adapters.factory import FACTORY

    from dbt.adapters.tapestry.session import DbtSession

    # pyspark would print each failed statement as JSON; the error that we raise says it once
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    root = project_root(project_dir)
    config = runtime_config(root, profiles_dir, target, variables)
    kind: Any = FACTORY.get_adapter_class_by_name("tapestry")
    adapter = kind(config, get_context("spawn"))
    try:
        with adapter.connection_named("tapestry"):
            yield Project(root, config.credentials.schema, DbtSession(adapter), config)
    finally:
        adapter.cleanup_connections()


def project_root(project_dir: Path) -> Path:
    """The folder of the dbt project; ConfigurationError where none is there."""
    root = project_dir.resolve()
    if not (root / PROJECT_FILE).is_file():
        raise ConfigurationError(
            "no dbt_project.yml here",
            str(root),
            "cd into a dbt project, give --project-dir, or make one: tapestry init my_project",
        )
    return root


def runtime_config(
    root: Path, profiles_dir: Path | None, target: str | None, variables: str | None = None
) -> Any:
    """The project and its profile as dbt reads them; ``variables`` is what --vars takes.

    Raises ConfigurationError for another adapter's profile; dbt's own errors pass through.
    """
    from dbt.config.runtime import RuntimeConfig
    from dbt.flags import set_from_args
    from dbt_common.context import set_invocation_context

    check_project_file(root)
    set_invocation_context({})
    args = Namespace(
        project_dir=str(root),
        profiles_dir=str(profiles_folder(root, profiles_dir)),
        profile=None,
        target=target,
        threads=None,
        vars=parsed_variables(variables) if variables else {},
        target_path=None,
        log_path=os.environ.get("DBT_LOG_PATH", "logs"),  # of None dbt makes a folder None
        send_anonymous_usage_stats=False,
        version_check=True,
        macro_debugging=False,
    )
    set_from_args(args, None)
    config = RuntimeConfig.from_args(args)
    if config.credentials.type != "tapestry":
        raise ConfigurationError(
            f"the profile's type is {config.credentials.type}",
            f"profile {config.profile_name}, target {config.target_name}",
            "use `type: tapestry`",
        )
    return config


def _profile(root: Path) -> str:
    """The name of the profile that a project asks for, as its file has it."""
    from yaml import safe_load

    found = safe_load((root / PROJECT_FILE).read_text("utf-8"))
    name = found.get("profile") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.isidentifier() else "<profile of dbt_project.yml>"


def check_project_file(root: Path) -> None:
    """Raise ConfigurationError for what is no YAML: dbt's own message does not say which file."""
    from yaml import YAMLError, safe_load

    path = root / PROJECT_FILE
    try:
        safe_load(path.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        near = f", near line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or error
        raise ConfigurationError(f"no valid YAML{near}: {why}", str(path), "correct it") from error


def parsed_variables(text: str) -> dict[str, Any]:
    """What `--vars` says; ConfigurationError where it is no YAML of names and values."""
    from yaml import YAMLError, safe_load

    try:
        found = safe_load(text)
    except YAMLError:
        found = None
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"--vars {text!r} is no YAML of names and values", hint="write it like '{name: value}'"
        )
    return found


def profiles_folder(root: Path, given_dir: Path | None = None) -> Path:
    """Where dbt looks for profiles.yml, and the folder profiles/ of a project with its own.

    Raises ConfigurationError where there is none.
    """
    given = given_dir or os.environ.get("DBT_PROFILES_DIR")
    folders = [Path.cwd(), root, root / "profiles", dbt_folder()]
    folders = [Path(given)] if given else folders
    for folder in folders:
        if (folder / "profiles.yml").is_file():
            return folder
    raise ConfigurationError(
        "there is no profiles.yml",
        ", ".join(dict.fromkeys(map(str, folders))),
        f"write one, with {_profile(root)}: {{target: local, outputs: {{local:\n"
        "  {type: tapestry, method: session, schema: <schema>, threads: 2}}}",
    )
