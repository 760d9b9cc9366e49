"""The dbt project that a command works on: its profile, and a session on its data.

dbt itself reads the options, the environment (``DBT_*``), the flags of dbt_project.yml and the
profile, with the code that `dbt run` goes through: a command works where `dbt run` would.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tapestry.children import start_tracker
from tapestry.cli.options import DbtOptions
from tapestry.errors import ConfigurationError
from tapestry.folders import dbt_folder

TYPE = "tapestry"
"""The `type` of the profiles with which a command works."""
PROJECT_FILE, PROFILES_FILE = "dbt_project.yml", "profiles.yml"


@dataclass(frozen=True)
class Project:
    """An open project: ``session`` speaks SQL (`run`, `rows`), ``schema`` is the target's.

    ``config`` is dbt's runtime configuration: profile, target, paths.
    """

    root: Path
    schema: str
    session: Any
    config: Any = None


@contextmanager
def open_project(given: DbtOptions) -> Iterator[Project]:
    """Connect as dbt would, with the same profile; closed at the end."""
    # To import dbt takes a second: only commands that need it do so.
    from dbt.adapters.factory import FACTORY

    from dbt.adapters.tapestry.session import DbtSession

    # pyspark would print each failed statement as JSON; the error that we raise says it once
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    config = runtime_config(given)
    kind: Any = FACTORY.get_adapter_class_by_name("tapestry")
    adapter = kind(config, get_context("spawn"))
    try:
        with adapter.connection_named("tapestry"):
            root = Path(config.project_root)
            yield Project(root, config.credentials.schema, DbtSession(adapter), config)
    finally:
        adapter.cleanup_connections()


def project_root(given: DbtOptions) -> Path:
    """The folder of the dbt project; ConfigurationError where none is there."""
    return _root(_places(given))


def dbt_arguments(given: DbtOptions) -> list[str]:
    """The options of every dbt command that is run for one of ours.

    The places are made absolute and said, so that they are the same for a process elsewhere. What
    was not given is not said: dbt finds it in the environment. Raises ConfigurationError where
    there is no project or no profiles.yml, click.UsageError for a folder that is not there.
    """
    places = _places(given)
    root = _root(places)
    check_project_file(root)
    folders = [f"--project-dir={root}", f"--profiles-dir={_profiles_folder(places, root)}"]
    # the standard output is ours; logs/dbt.log has what dbt says
    return [*folders, "--log-level=none", *given.others]


def runtime_config(given: DbtOptions) -> Any:
    """The project and its profile as `dbt run` would read them.

    Raises ConfigurationError for another adapter's profile, click.UsageError for an option's value
    that dbt does not take; dbt's own errors pass through.
    """
    from dbt.cli.flags import args_to_context

    start_tracker()
    arguments = dbt_arguments(given)
    command = ["run", *arguments, "--no-send-anonymous-usage-stats"]
    with _dbt_usage(), _keeping_adapters(), args_to_context(command) as context:
        context.obj = {"dbt_runner_command_args": command}
        config = _as_dbt_reads_it()(context)
    if config.credentials.type != TYPE:
        raise ConfigurationError(
            f"the profile's type is {config.credentials.type}",
            f"profile {config.profile_name}, target {config.target_name}",
            f"use `type: {TYPE}`",
        )
    return config


def given_instant(config: Any) -> Any:
    """`tapestry_as_of` as a model of the project sees it: --vars, else vars; None where unset."""
    from tapestry.runs.context.clock import VARIABLE

    said: Mapping[str, Any] = config.cli_vars or {}
    of_file = config.vars.to_dict()
    inner = of_file.get(config.project_name)
    for names in (said, inner if isinstance(inner, dict) else {}, of_file):
        if VARIABLE in names:
            return names[VARIABLE]
    return None


def _as_dbt_reads_it() -> Any:
    """dbt's own steps of a command, in its order, up to the configuration."""
    from dbt.cli import requires

    @requires.preflight  # type: ignore[untyped-decorator]
    @requires.profile  # type: ignore[untyped-decorator]
    @requires.project  # type: ignore[untyped-decorator]
    @requires.runtime_config  # type: ignore[untyped-decorator]
    def read(context: click.Context) -> Any:
        return context.obj["runtime_config"]

    return read


def _places(given: DbtOptions) -> click.Context:
    """Return where dbt looks for the project and profiles.yml, by its own options in click."""
    from dbt.cli import params

    @click.command("where")
    @params.project_dir
    @params.profiles_dir_exists_false
    def where(**_: Any) -> None: ...

    with _dbt_usage():
        return where.make_context("where", given.places)


@contextmanager
def _keeping_adapters() -> Iterator[None]:
    """Keep dbt's adapters in this process, which its steps of a command close and forget.

    Whoever asks for the adapter between two commands in one process would find none.
    """
    from dbt.adapters.factory import FACTORY

    held = dict(FACTORY.adapters)
    FACTORY.adapters.clear()
    try:
        yield
    finally:
        FACTORY.adapters.update(held)


@contextmanager
def _dbt_usage() -> Iterator[None]:
    """Errors of usage that dbt's options raise, without the usage of dbt's command."""
    try:
        yield
    except click.UsageError as error:
        raise click.UsageError(error.format_message()) from error


def _root(places: click.Context) -> Path:
    root = Path(os.path.abspath(places.params["project_dir"]))
    if not (root / PROJECT_FILE).is_file():
        raise ConfigurationError(
            "no dbt_project.yml here",
            str(root),
            "cd into a dbt project, give --project-dir, or make one: tapestry init my_project",
        )
    return root


def _profiles_folder(places: click.Context, root: Path) -> Path:
    """Return where dbt looks for profiles.yml; else a folder of the project that has it.

    The second harms nothing: `dbt run` would not run at all. Raises ConfigurationError where there
    is none anywhere.
    """
    found = Path(os.path.abspath(places.params["profiles_dir"]))
    folders = [found]
    if places.get_parameter_source("profiles_dir") == ParameterSource.DEFAULT:
        folders = [Path.cwd(), dbt_folder(), root, root / "profiles"]
    for folder in folders:
        if (folder / PROFILES_FILE).is_file():
            return folder
    raise ConfigurationError(
        "there is no profiles.yml",
        ", ".join(dict.fromkeys(map(str, folders))),
        f"write one, with {_profile(root)}: {{target: local, outputs: {{local:\n"
        "  {type: tapestry, method: session, schema: <schema>, threads: 2}}}",
    )


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
