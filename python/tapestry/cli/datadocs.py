"""`tapestry datadocs`: the checks of past runs as Data Docs of Great Expectations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import runtime_config

EXAMPLE = """\b
Examples:
  tapestry datadocs
  tapestry datadocs --json

Renders the results that runs have stored under target/great_expectations, without Spark. Runs that
load Great Expectations render them without this command. Exit codes: 0 done, 1 nothing was checked
yet, 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="Render the checks of past runs as Data Docs.")
@click.option("--json", "as_json", is_flag=True, help="Print their location as JSON.")
@project_options
def datadocs(
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Render the checks of past runs as Data Docs of Great Expectations."""
    from tapestry.runs.after.documents import build_data_docs

    folder = Path(runtime_config(given).project_target_path)
    page = build_data_docs(folder)
    if as_json:
        click.echo(json.dumps({"page": None if page is None else str(page)}))
    elif page is None:
        click.echo("no run has checked anything yet: give a model expectations, and run it")
    else:
        click.echo(f"data docs: {page}")
    click.get_current_context().exit(0 if page is not None else 1)
