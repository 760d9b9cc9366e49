"""`tapestry verify`: the tables of models of ours, checked against their queries."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.models import (
    UNVERIFIED,
    VERIFIED,
    Manifest,
    names_of_kinds,
    open_models,
    read_manifest,
    refuse_kinds,
)
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import NotRunYet, TapestryError
from tapestry.runs.engine.instants import show
from tapestry.runs.kinds.registry import kind_of
from tapestry.words import counted

if TYPE_CHECKING:
    from tapestry.runs.checks.verification import Audited

EXAMPLE = """\b
Example:
  tapestry verify
  tapestry verify unanswered --full
  tapestry verify --full --json | jq '.[] | select(.status != "pass")'
  tapestry verify --memories

The table of a continuous model is right if it holds every answer of its query up to its newest run
(enough), and no other row, each answer once and with its first instant (not too much). The command
evaluates the query itself, over the versions of its sources that the newest run read. A sample
checks a part of the history, another part each time. --full checks all of it, at every instant at
which anything changed. Nothing is written to the table.

The table of a maintained model is right if it is the answer of its query at its newest run. A
sample compares the rows of some keys, --full all rows. The table of a derived model is right if it
is the answer of its query over what its actions have done; rows that wait for an action are left
out.

--memories checks the memories instead, the copies of rows that runs read in place of sources: each
is compared with the present rows of its source. You can drop a wrong memory; the next run builds it
again.

A model that has not run yet has no table: it is skipped, unless you name it. If another program has
written to a table, it is checked nevertheless, and the command reports this too.

Exit codes: 0 all checked tables are right; 1 one is not, or could not be checked, or another
program has written to it.
"""


NO_MEMORIES = {
    "maintained": "its runs read no memories. Without --memories its table is checked",
    "derived": "its actions read no memories. Without --memories its table is checked",
}
"""Kind of model whose runs read no memories -> the reason, and the alternative."""


@click.command(epilog=EXAMPLE)
@click.argument("models", metavar="[MODEL...]", nargs=-1, shell_complete=models_of_ours)
@click.option("--full", is_flag=True, help="Check every instant and every row, not a sample.")
@click.option(
    "--memories", is_flag=True, help="Check the memories of the models, not their tables."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def verify(
    models: tuple[str, ...],
    full: bool,
    memories: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Check the tables of MODELs (all, if none is named) against their queries."""
    manifest = read_manifest(given)
    wanted = names_of_kinds(manifest, models, VERIFIED, "there is nothing to verify", UNVERIFIED)
    names = wanted or manifest.of_kinds(VERIFIED)
    if memories:
        for name in wanted:
            refuse_kinds(manifest.model(name), NO_MEMORIES)
        names = [name for name in names if name in manifest.continuous()]
        _verify_memories(manifest, names, as_json)
        return
    found: list[dict[str, Any]] = []
    errors: list[TapestryError] = []
    for name, audited in _audited(manifest, names, full):
        if isinstance(audited, TapestryError):  # of one model; the others are looked at
            if wanted or not isinstance(audited, NotRunYet):
                errors.append(audited)
            elif not as_json:
                click.echo(f"{name}: has not run yet")
            continue
        if audited.changed is not None:
            errors.append(audited.changed)
        rows = list(_described(name, audited))
        found += rows
        if not as_json:
            for row in rows:
                click.echo(_sentence(row))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not names:
        click.echo("the project has no continuous, maintained or derived models")
    _end(errors, all(row["status"] == "pass" for row in found))


def _end(errors: list[TapestryError], right: bool) -> None:
    """Tell what could not be looked at; the exit code says whether all is right."""
    for error in errors[:-1]:
        click.echo(f"Error: {error}", err=True)
    if errors:
        raise errors[-1]
    if not right:
        click.get_current_context().exit(1)


def _verify_memories(manifest: Manifest, names: list[str], as_json: bool) -> None:
    """Show the memories that the next runs would read beside their sources; exit 1 for a wrong one.

    The models that cannot be looked at are told when the others have been.
    """
    from tapestry.runs.kinds.continuous.after.compare_memories import compare_memories

    found: list[dict[str, Any]] = []
    errors: list[TapestryError] = []
    with open_models(manifest, names) as opened:
        for name, model in opened.models.items():
            try:
                compared = compare_memories(opened.session, model, opened.invocation)
            except TapestryError as error:
                errors.append(error)
                continue
            found += [{"model": name, **asdict(one)} for one in compared]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        lines = [_of_memory(one) for one in found] or ["no memory is read by these models"]
        click.echo("\n".join(lines))
    _end(errors, all(one["equal"] for one in found))


def _of_memory(one: dict[str, Any]) -> str:
    what = f"{one['model']}: {one['alias']} ({one['source']})"
    if one["equal"]:
        return f"{what}: {counted(one['rows'], 'row')}, as the source has them"
    return (
        f"{what}: NOT as the source has them: {counted(one['rows'], 'row')},"
        f" {one['wanted_rows']} there; drop table {one['memory']}"
    )


def _audited(
    manifest: Manifest, names: list[str], full: bool
) -> Iterator[tuple[str, Audited | TapestryError]]:

    with open_models(manifest, names) as opened:
        for name, model in opened.models.items():
            turn = random.randrange(10**6)
            level = "full" if full else "sample"
            try:
                yield (
                    name,
                    kind_of(model).audit(opened.session, model, opened.invocation, level, turn),
                )
            except TapestryError as error:
                yield name, error


def _described(name: str, audited: Audited) -> Iterator[dict[str, Any]]:
    for result in audited.results:
        yield {
            "model": name,
            "check": result.kind,
            "status": result.status,
            "level": result.level,
            "until": show(audited.t),
            "runs": audited.runs,
            "checked_rows": result.checked_rows,
            "violations": result.violations,
            **dict(result.details),
        }


def _sentence(row: dict[str, Any]) -> str:
    if row["check"] == "drift":
        return derived_told(row)
    what = {"enough": "enough", "not_too_much": "not too much"}[row["check"]]
    looked = f"{counted(row['checked_rows'] or 0, 'row')} looked at, up to {row['until']}"
    if row["status"] == "pass":
        return f"{row['model']}: {what} ({looked})"
    if row["status"] == "error":
        return f"{row['model']}: {what} could not be told: {row.get('message', '')}"
    wrong = "missing" if row["check"] == "enough" else "too many"
    lines = [f"{row['model']}: NOT {what}: {row['violations']} {wrong} ({looked})"]
    for one in row.get("rows", ())[:5]:
        values = ", ".join(f"{column} = {value}" for column, value in one["row"].items())
        lines.append(f"  {one['reason']} at {one['instant']}: {values[:200]}")
    return "\n".join(lines)


def derived_told(row: dict[str, Any]) -> str:
    """Tell whether a derived table is what its query says."""
    if "not_compared" in row:
        return f"{row['model']}: nothing to compare it with: {row['not_compared']}"
    if row["status"] == "error":
        return f"{row['model']}: could not be compared: {row.get('message', '')}"
    looked = f"{counted(row['checked_rows'] or 0, 'row')} looked at"
    if row["status"] == "pass":
        return f"{row['model']}: as its query says, for what its actions have done ({looked})"
    return f"{row['model']}: NOT as its query says: {row.get('message', '')}"
