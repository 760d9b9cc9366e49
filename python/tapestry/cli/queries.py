"""`tapestry queries`: the continuous models, and the operator's switch of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.models import Manifest, names_of_kinds, read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import open_project
from tapestry.errors import ConfigurationError
from tapestry.names import QUERIES_TABLE
from tapestry.report.text import instant
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.kinds.registry import KINDS
from tapestry.runs.model.model import schedule_of
from tapestry.runs.tables.queries import LONGEST_REASON, QueryRow, read_queries, switch
from tapestry.words import printable

if TYPE_CHECKING:
    from tapestry.report.record import Record, Run

EXAMPLE = """\b
Examples:
  tapestry queries
  tapestry queries --off unanswered --why "its source is being repaired"
  tapestry queries --on unanswered
  tapestry queries --json | jq '.[] | select(.active | not)'

Every run, `tapestry watch` and `tapestry replay` skip a model that is switched off, also with
--full-refresh; dbt says so in its log line. The table of the model stays as it is, and models that
read it are computed up to the same instant. When you switch it on, its next run covers the whole
gap, and the rows are the same as if it had never been off. The table tapestry_queries has the
switches; only this command writes them.

Exit codes: 0 done, 1 the table cannot be read or written, 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="List the models; switch one off or on.")
@click.option(
    "--off", metavar="MODEL", shell_complete=models_of_ours, help="Switch this model off."
)
@click.option("--on", metavar="MODEL", shell_complete=models_of_ours, help="Switch this model on.")
@click.option("--why", metavar="TEXT", help="With --off: the reason, for runs and reports to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the models as JSON.")
@project_options
def queries(
    off: str | None, on: str | None, why: str | None, as_json: bool, given: DbtOptions
) -> None:
    """List the models with their priorities and switches; or switch one off or on."""
    _refuse_wrong_use(off, on, why)
    manifest = read_manifest(given)
    if off is None and on is None:
        _list(manifest, as_json)
        return
    row = _switch(manifest, off or on or "", on is not None, (why or "").strip())
    if as_json:
        click.echo(json.dumps(_described(row), indent=2))
    else:
        state = "on" if row.active else f"off: {printable(row.why)}"
        click.echo(f"{off or on}: switched {state}")


def _refuse_wrong_use(off: str | None, on: str | None, why: str | None) -> None:
    if off is not None and on is not None:
        raise click.UsageError("--off and --on at once: give one of them")
    if off is not None and not (why or "").strip():
        raise click.UsageError("--off needs --why: runs and reports show the reason")
    if off is None and why is not None:
        raise click.UsageError("--why belongs to --off")
    if why is not None and len(why) > LONGEST_REASON:
        raise click.UsageError(f"--why is longer than {LONGEST_REASON:,} characters")


def _switch(manifest: Manifest, name: str, active: bool, why: str) -> QueryRow:
    """Write the model's row, whatever stands there; the switch alone has changed in it."""
    (name,) = names_of_kinds(manifest, [name], KINDS, "dbt alone decides when it runs", {})
    row = replace(_rows(manifest)[name], active=active, why=why)
    with open_project(manifest.given) as project:
        table = f"{project.schema}.{QUERIES_TABLE}"
        there = read_queries(project.session, table).get(row.model)
        if there is not None and not isinstance(there, OddRow) and there.active == active:
            row = replace(row, since=there.since)
        switch(project.session, table, row)
    return row


def _rows(manifest: Manifest) -> dict[str, QueryRow]:
    """Return each model of ours, by name, as the project configures it."""
    from tapestry.runs.query.relations import plain

    now, found = datetime.now(timezone.utc), {}
    for name in manifest.of_kinds():
        node = manifest.models[name]
        try:
            priority = schedule_of(node["config"]).priority
        except ConfigurationError as error:
            where = str(node["original_file_path"])
            raise ConfigurationError(error.reason, where, error.hint) from error
        found[name] = QueryRow(plain(node["relation_name"]), node["unique_id"], priority, now)
    return found


@dataclass(frozen=True)
class _Listed:
    """A model as it is listed: ``row`` is None where nothing stands in the table yet."""

    name: str
    priority: int
    model: str
    row: QueryRow | None
    last: Run | None


def _list(manifest: Manifest, as_json: bool) -> None:
    from tapestry.cli.at_hand import tables_of
    from tapestry.report.read import read_record

    with open_project(manifest.given) as project:
        record = read_record(tables_of(project))
    listed = _listed(_rows(manifest), record)
    if as_json:
        click.echo(json.dumps([_told(one) for one in listed], indent=2))
    elif listed:
        _show(listed)
    else:
        click.echo("the project has no continuous or maintained models")
    unread = [one for one in record.unread if one.table == QUERIES_TABLE]
    for one in unread:
        click.echo(f"Error: {one.table} cannot be read: {one.why}", err=True)
    if unread:
        click.get_current_context().exit(1)


def _listed(rows: Mapping[str, QueryRow], record: Record) -> list[_Listed]:
    """The project's models, the greatest priority first, as the tables of the schema know them."""
    last = {run.model: run for run in record.runs}
    found = [
        _Listed(name, row.priority, row.model, record.queries.get(row.model), last.get(row.model))
        for name, row in rows.items()
    ]
    return sorted(found, key=lambda one: (-one.priority, one.name))


def _show(listed: Sequence[_Listed]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tapestry.cli.show import console

    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column("priority", justify="right")
    for name in ("active", "since", "last run", "answers"):
        table.add_column(name, no_wrap=True)
    table.add_column("why")
    for one in listed:
        off = one.row is not None and not one.row.active
        run = one.last
        table.add_row(
            printable(one.name),
            str(one.priority),
            Text("off", "red") if off else "yes",
            instant(one.row.since) if one.row else "–",
            instant(run.ended_at) if run else "never",
            ("failed" if run.failed else f"{run.came or 0:,}") if run else "–",
            Text(printable(one.row.why) if one.row else ""),
        )
    console().print(table)


def _told(one: _Listed) -> dict[str, Any]:
    run = one.last
    switch = _described(one.row) if one.row else {"active": True, "why": "", "since": None}
    return {
        "name": one.name,
        "model": one.model,
        "priority": one.priority,
        **{name: switch[name] for name in ("active", "why", "since")},
        "last_run": None
        if run is None
        else {
            "action": run.action,
            "t": run.t.isoformat() if run.t else None,
            "ended_at": run.ended_at.isoformat() if run.ended_at else None,
            "new_rows": run.came,
            "seconds": run.seconds,
        },
    }


def _described(row: QueryRow) -> dict[str, Any]:
    return {
        "model": row.model,
        "id": row.id,
        "priority": row.priority,
        "active": row.active,
        "why": row.why,
        "since": row.since.isoformat(),
    }
