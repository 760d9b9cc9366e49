"""`tapestry network`: sources, what is kept of them, and models; what reads what."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.models import read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import Project, open_project
from tapestry.words import counted, size_text

if TYPE_CHECKING:
    from tapestry.report.network import Network

EXAMPLE = """\b
Examples:
  tapestry network
  tapestry network unanswered
  tapestry network --html network.html
  tapestry network --json | jq '.nodes[] | select(.kind == "source") | [.name, .rows]'

Shows first the sources, with the rows, files and bytes from their Delta logs. Below each source are
the models that read it: priority, strategy, answers and seconds of the last run, and whether the
model is switched off. Between them are the kept tables: a memory has those rows of a source that
its models can need, sums are the states of the groups of a model (`<model>__memory`). --gc drops
memories that no model uses.

Exit codes: 0 shown, 1 failed, 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="Show the network of sources, kept tables and models.")
@click.argument("model", required=False, shell_complete=models_of_ours)
@click.option("--json", "as_json", is_flag=True, help="Print nodes and edges as JSON.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write one HTML page with a drawing.",
)
@click.option("--gc", is_flag=True, help="First drop the memories that no model uses.")
@project_options
def network(
    model: str | None, as_json: bool, html: Path | None, gc: bool, given: DbtOptions
) -> None:
    """Show the network of sources and models: all of it, or the part around MODEL."""
    from tapestry.report.network import described
    from tapestry.report.network_page import network_page
    from tapestry.report.network_text import says, tree
    from tapestry.report.page import write_page

    read_manifest(given)  # dbt writes what it has read
    with open_project(given) as project:
        if gc:
            _collect(project)
        name, found = _read(project, model)
        schema = project.schema
    if html is not None:
        write_page(html, network_page(found, name or schema, schema, datetime.now(timezone.utc)))
    if as_json:
        click.echo(json.dumps(described(found), indent=2))
    elif html is not None:
        click.echo(f"network: {html}")
    else:
        lines = tree(found) or ["the project has no continuous models"]
        click.echo("\n".join([*lines, "", says(found)] if found.nodes else lines))


def _collect(project: Project) -> None:
    from tapestry.runs.memories.survey import collect

    gone = collect(project.session, project.schema)
    for one in gone:
        click.echo(f"dropped {one.name} ({size_text(one.size)} of {one.source})", err=True)
    click.echo(f"{counted(len(gone), 'memory', 'memories')} dropped", err=True)


def _read(project: Project, model: str | None) -> tuple[str, Network]:
    """The project's name, and its network; of a model what is around it."""
    from tapestry.cli.at_hand import tables_of
    from tapestry.report.artifacts import read_artifacts
    from tapestry.report.memories import memories_of
    from tapestry.report.network import find_model, make_network, sums_of
    from tapestry.report.read import TableSize, read_record, table_size

    artifacts = read_artifacts(Path(project.config.project_target_path))
    wanted = None if model is None else find_model(artifacts, model)
    tables = tables_of(project)
    record, opened = read_record(tables), cache(partial(tables_of, project))

    def sizes(name: str) -> TableSize | None:
        schema, _, table = name.rpartition(".")
        return table_size(opened(schema), table)

    kept = memories_of(tables, project.schema, sizes)
    found = make_network(artifacts, record, sizes, [*kept, *sums_of(artifacts, sizes)])
    return artifacts.project, found if wanted is None else found.around(wanted)
