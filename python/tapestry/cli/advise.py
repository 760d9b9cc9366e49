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

DIR is a dbt project for any adapter, or any folder of .sql files. The command only reads it. It
does not start dbt, needs no installed packages, and uses neither a warehouse nor environment
variables. --dialect names the SQL dialect of the project; sqlglot translates it to that of Spark.

A separate process renders Jinja with replacements: ref() and source() give names, var() gives its
value from --vars, dbt_project.yml or its default, target.name is prod, execute is false.
is_incremental() is first false, then true, to find what it compares. The process knows the macros
of the project, those of packages that `dbt deps` has installed or that packages.yml names as local,
those of --macros, and the common ones of dbt_utils. Other names are looked up among the macros of
other projects in the same git repository, and for a folder among the macros in it.

The columns of a table are those that the queries of the project use and its YAML lists. Their types
are those of the YAML, otherwise guesses. With --json, columns_taken lists them all.
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
@click.option("--vars", "variables", metavar="YAML", default="", help="dbt's own option.")
@click.option(
    "--macros",
    metavar="DIR",
    multiple=True,
    help="A folder of macros, or a package, outside DIR; may be repeated.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--verbose", "-v", is_flag=True, help="Print all details of each model.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def advise(
    folder: Path,
    dialect: str,
    variables: str,
    macros: tuple[Path, ...],
    verbose: bool,
    as_json: bool,
) -> None:
    """Say for each model in DIR which kind fits, why, and what to change; DIR is only read."""
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
