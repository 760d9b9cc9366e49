"""dbt's own options of our commands: what was said is handed to dbt, the rest is left to dbt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class DbtOptions:
    """The options given on the command line for the project and its run; None: not given.

    Of an option that was not given nothing is known here, neither a default nor a variable of
    the environment: dbt finds those, by the rules of the version that is installed.
    """

    project_dir: str | None = None
    profiles_dir: str | None = None
    profile: str | None = None
    target: str | None = None
    target_path: str | None = None
    variables: str | None = None

    @property
    def places(self) -> list[str]:
        """The project's and the profiles' folders as arguments of dbt."""
        return _written({"project-dir": self.project_dir, "profiles-dir": self.profiles_dir})

    @property
    def others(self) -> list[str]:
        """The other options as arguments of dbt."""
        return _written(
            {
                "profile": self.profile,
                "target": self.target,
                "target-path": self.target_path,
                "vars": self.variables,
            }
        )


def _written(said: dict[str, str | None]) -> list[str]:
    """One argument an option, so that a value that begins with a dash is still a value."""
    return [f"--{name}={value}" for name, value in said.items() if value is not None]


_PROJECT: Final = (
    click.option("--vars", "variables", metavar="YAML", help="dbt's own option."),
    click.option("--target-path", metavar="FOLDER", help="dbt's own option."),
    click.option("--target", "-t", help="Target of the profile (dbt's --target)."),
    click.option("--profile", help="Profile of profiles.yml (dbt's --profile)."),
    click.option("--profiles-dir", metavar="FOLDER", help="dbt's own option."),
    click.option(
        "--project-dir",
        metavar="FOLDER",
        help="Folder of dbt_project.yml; default: the current one, or the nearest one above.",
    ),
)
_NAMES: Final = ("project_dir", "profiles_dir", "profile", "target", "target_path", "variables")


def project_options(command: Command) -> Command:
    """The options that say which project and warehouse; the command gets them as ``given``."""

    @wraps(command)
    def with_given(**values: Any) -> Any:
        given = DbtOptions(**{name: values.pop(name) for name in _NAMES})
        return command(given=given, **values)

    result: Any = with_given
    for option in _PROJECT:
        result = option(result)
    return result  # type: ignore[no-any-return]


def selection_options(command: Command) -> Command:
    """dbt's own options for which models."""
    for option in (
        click.option("--exclude", multiple=True, help="dbt's own option; may be repeated."),
        click.option("--select", "-s", multiple=True, help="dbt's own option; may be repeated."),
    ):
        command = option(command)
    return command
