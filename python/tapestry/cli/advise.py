"""`tapestry advise`: which models of an existing dbt project fit, why not, and what to change."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tapestry.cli.complete import dialects
from tapestry.errors import ConfigurationError

if TYPE_CHECKING:
    from tapestry.advise.survey import Progress

EXAMPLE = """\b
Example:
  tapestry advise ../our_project --dialect snowflake
  tapestry advise ../our_project --dialect bigquery --verbose
  tapestry advise ../repo/finance --macros ../repo/macros --vars '{start: 2024-01-01}'
  tapestry advise queries --json | jq '.reasons'

DIR is a dbt project for any adapter, or any folder of .sql files. It is only read: dbt does not
parse it, no package need be installed, no warehouse is asked, no variable of the environment is
looked at. --dialect says which SQL it is written in; what is not Spark's is translated by sqlglot
first.

Jinja is rendered with stand-ins, in a process of its own: ref() and source() are names, var() has
its value of --vars, dbt_project.yml or its default, target.name is prod, execute is false, and
is_incremental() is false, then true to see what it compares. The project's macros count, those of
packages where `dbt deps` has installed them or packages.yml names them as local, those of --macros,
and the common ones of dbt_utils. In a git repository macros of other projects beside DIR, and of a
folder macros there, fill in names that are not known otherwise.

The columns of tables are those that the project's queries ask for and its YAML lists. Types are
those of the YAML, else guesses. --json has them all under columns_taken.
"""


@click.command(epilog=EXAMPLE)
@click.argument(
    "folder",
    metavar="[DIR]",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--dialect",
    default="spark",
    show_default=True,
    help="SQL dialect of the project.",
    shell_complete=dialects,
)
@click.option("--vars", "variables", metavar="YAML", default="", help="As dbt's own.")
@click.option(
    "--macros",
    metavar="DIR",
    multiple=True,
    help="A folder of macros, or a package, that lies beside DIR; several times for several.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--verbose", "-v", is_flag=True, help="All that there is to say of each model.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
def advise(
    folder: Path,
    dialect: str,
    variables: str,
    macros: tuple[Path, ...],
    verbose: bool,
    as_json: bool,
) -> None:
    """Say of each model in DIR which kind fits, why, and what would change; only read it."""
    from tapestry.advise.survey import survey
    from tapestry.cli.eject import known_dialect

    known_dialect(dialect)
    with _progress() as progress:
        found = survey(folder, dialect, progress, variables=variables, macros=macros)
    if not found.models:
        raise ConfigurationError(
            "there are no SQL files",
            str(folder),
            "give the folder of dbt_project.yml, or one with .sql files in it; a folder named in"
            " model-paths by Jinja is not found",
        )
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return
    from tapestry.cli.advise_view import show_survey
    from tapestry.cli.show import console

    show_survey(console(), found, verbose)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on the standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading")
        yield lambda done, of: bar.update(task, completed=done, total=of)
