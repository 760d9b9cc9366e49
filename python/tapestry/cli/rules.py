"""`tapestry rules`: what waits between rules and actions; batches shown, replayed, dropped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.models import read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.instants import now_utc

if TYPE_CHECKING:
    from tapestry.cli.rules_seen import SeenAction

EXAMPLE = """\b
Examples:
  tapestry rules
  tapestry rules --dead
  tapestry rules show compute_comps/7/1
  tapestry rules replay compute_comps/7/1 compute_comps/7/2
  tapestry rules drop compute_comps/7/1
  tapestry rules run compute_comps --now
  tapestry rules --json | jq '.batches[] | select(.event == "dead")'

Shows each rule with its actions: up to which commit of its table it has read, how many commits came
since, which batches wait, and when the first of them is released. Then it shows the batches that
are not finished: claimed by a run, failed and waiting for their next attempt, or dead. --due shows
only those that a run would execute now; --failed and --dead only those.

`show` prints the rows of a batch. `replay` gives dead batches to the next run of their action, with
the same rows and the full number of attempts. `drop` discards them: no action is executed for their
rows. `run` executes the due batches of one action, with --now also those that are not released yet.

Exit codes: 0 done, 1 the tables cannot be read or written, or a batch is dead after `run`, 2 wrong
usage or no such batch.
"""
LIST_OPTIONS = ("due", "failed", "dead")


@click.group(
    epilog=EXAMPLE,
    short_help="Show the batches of actions; replay or drop them.",
    invoke_without_command=True,
)
@click.option("--due", is_flag=True, help="Only the batches that a run would execute now.")
@click.option("--failed", is_flag=True, help="Only the batches that have failed and wait.")
@click.option("--dead", is_flag=True, help="Only the batches whose last attempt has failed.")
@click.option("--json", "as_json", is_flag=True, help="Print the rules and the batches as JSON.")
@project_options
@click.pass_context
def rules(
    context: click.Context, due: bool, failed: bool, dead: bool, as_json: bool, given: DbtOptions
) -> None:
    """List what waits between rules and actions; show, replay, drop and run batches."""
    from tapestry.cli.rules_seen import chosen_batches, seen_actions, told_row

    if context.invoked_subcommand is not None:
        _refuse_list_options(context)
        return
    wanted = {word for word, on in zip(LIST_OPTIONS, (due, failed, dead), strict=True) if on}
    seen = seen_actions(read_manifest(given))
    batches = chosen_batches(seen, wanted, now_utc())
    if as_json:
        rows = [told_row(row) for one in seen for row in one.rows]
        click.echo(json.dumps({"rules": rows, "batches": batches}, indent=2))
    else:
        _print(seen, batches, all_of_them=not wanted)


@rules.command("show", short_help="Print the rows of a batch.")
@click.argument("batch")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--json", "as_json", is_flag=True, help="Print the batch and its rows as JSON.")
@project_options
def show(batch: str, limit: int, as_json: bool, given: DbtOptions) -> None:
    """Print the last event of BATCH, and its rows."""
    from tapestry.cli.rules_settle import shown_batch

    found = shown_batch(read_manifest(given), batch, limit)
    if as_json:
        click.echo(json.dumps(found, indent=2, default=str))
        return
    from tapestry.cli.show import console

    to = console()
    to.print(_line(found["batch"]), markup=False)
    for name, table in found["tables"].items():
        to.print(_table(f"{name}, {table['told']}", table["columns"], table["rows"]))


@rules.command("replay", short_help="Let the next run execute dead batches again.")
@click.argument("batch", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def replay(batch: tuple[str, ...], as_json: bool, given: DbtOptions) -> None:
    """Give each dead BATCH to the next run of its action, with the full number of attempts."""
    _settle(batch, True, as_json, given)


@rules.command("drop", short_help="Discard dead batches.")
@click.argument("batch", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def drop(batch: tuple[str, ...], as_json: bool, given: DbtOptions) -> None:
    """Discard each dead BATCH: no action is executed for its rows."""
    _settle(batch, False, as_json, given)


@rules.command("run", short_help="Execute the due batches of an action, or all that wait.")
@click.argument("action")
@click.option("--now", "at_once", is_flag=True, help="Also batches that are not released yet.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def run(action: str, at_once: bool, as_json: bool, given: DbtOptions) -> None:
    """Execute the batches of ACTION that are due, without its rules and hooks."""
    from tapestry.cli.rules_settle import ran_action

    said = ran_action(read_manifest(given), action, at_once)
    click.echo(json.dumps({"said": said}) if as_json else f"{action}: {said}")


def _settle(named: tuple[str, ...], again: bool, as_json: bool, given: DbtOptions) -> None:
    from tapestry.cli.rules_settle import settle_batches

    said = settle_batches(read_manifest(given), named, again)
    click.echo(json.dumps({"said": said}) if as_json else "\n".join(said))


def _refuse_list_options(context: click.Context) -> None:
    """Raise click.UsageError for options of the list before a word that lists nothing.

    dbt's own would be lost there: they belong behind the word.
    """
    given = click.core.ParameterSource.COMMANDLINE
    for option in context.command.params:
        if option.name is not None and context.get_parameter_source(option.name) == given:
            raise click.UsageError(
                f"{option.opts[0]} before `{context.invoked_subcommand}`: options of a word stand"
                " behind it"
            )


def _print(seen: list[SeenAction], batches: list[dict[str, Any]], all_of_them: bool) -> None:
    from tapestry.cli.rules_seen import told_row
    from tapestry.cli.show import console

    to = console()
    if all_of_them:
        rows = [told_row(row) for one in seen for row in one.rows]
        if rows:
            listed = [["" if v is None else str(v) for v in row.values()] for row in rows]
            to.print(_table("", list(rows[0]), listed))
    for one in seen:
        if one.error:
            to.print(f"{one.name}: {one.error}", markup=False)
    if not batches:
        none = "no batch waits for an attempt, and none is dead" if all_of_them else "none"
        to.print(none)
    for batch in batches:
        to.print(_line(batch), markup=False)


def _line(batch: dict[str, Any]) -> str:
    return "  ".join(f"{value}" for value in batch.values() if value not in (None, ""))


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Any:
    from rich.markup import escape

    from tapestry.cli.show import folded_table

    table = folded_table(escape(title), *map(escape, columns))
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row))
    return table
