"""`tapestry report`: is everything well? One page, a few lines, an exit code."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import open_project
from tapestry.names import CHECKS_TABLE, DELIVERIES_TABLE, QUERIES_TABLE, RUNS_TABLE
from tapestry.runs.engine.instants import parse_length

if TYPE_CHECKING:
    from tapestry.report.make import Report
    from tapestry.report.read import Tables

SESSION_EVERY, PAGE_EVERY = 15, 60
EXAMPLE = """\b
Examples:
  tapestry report
  tapestry report --stale-after "2 hours" --json
  tapestry report --serve

The page is one HTML file that needs no network. Exit codes: 0 well (or: needs a look), 1 not well,
or nothing has run yet; 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="Write one HTML page that says which models are well.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of the page; default: tapestry_report.html in dbt's target folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the content of the page as JSON.")
@click.option(
    "--stale-after",
    metavar="LENGTH",
    help="A model is not well if no run ended for this long: '2 hours'.",
)
@click.option(
    "--serve", is_flag=True, help="Serve the page on this machine, and update it as runs end."
)
@click.option("--port", default=8580, show_default=True, help="The port of --serve; 0: a free one.")
@project_options
def report(
    output: Path | None,
    as_json: bool,
    stale_after: str | None,
    serve: bool,
    port: int,
    given: DbtOptions,
) -> None:
    """Write one page: which models are well, which are not, since when, and why."""
    from tapestry.cli.at_hand import tables_of
    from tapestry.report.make import FILE, make_report

    allowed = parse_length(stale_after, "--stale-after") if stale_after else None
    with open_project(given) as project:
        folder = Path(project.config.project_target_path)
        tables = tables_of(project)

        def make() -> Report:
            return make_report(tables, folder, project.schema, stale_after=allowed)

        if serve:
            _serve(make, _fingerprint(tables, folder), folder, port)
            return
        made = make()
        page = output or folder / FILE
        made.write(page)
    if as_json:
        click.echo(json.dumps(made.summary(page), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join([*made.told(), f"report: {page}"]))
    click.get_current_context().exit(0 if made.verdict.well else 1)


def _fingerprint(tables: Tables, folder: Path) -> Callable[[], str]:
    """Cheap to ask: names and times of files; through a session only the clock."""
    from tapestry.report.read import DeltaFolder

    def ask() -> str:
        parts = [int(time.time() // (PAGE_EVERY if at_hand else SESSION_EVERY))]
        for path in watched:
            parts.append(path.stat().st_mtime_ns if path.exists() else 0)
        return "-".join(map(str, parts))

    at_hand = isinstance(tables, DeltaFolder)
    watched = [folder / "manifest.json", folder / "run_results.json"]
    if isinstance(tables, DeltaFolder):
        names = (RUNS_TABLE, CHECKS_TABLE, DELIVERIES_TABLE, QUERIES_TABLE)
        watched += [tables.folder / name / "_delta_log" for name in names]
    return ask


def _serve(
    make: Callable[[], Report], fingerprint: Callable[[], str], folder: Path, port: int
) -> None:
    from tapestry.report.serve import Server

    try:
        server = Server(make, fingerprint, folder, port)
    except OSError as error:
        raise click.UsageError(
            f"port {port}: {error.strerror}; choose another by --port"
        ) from error
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    signal.signal(signal.SIGINT, lambda *_: server.stop())
    click.echo(f"{server.url} shows the report and what is new; Ctrl-C ends it")
    server.run()
