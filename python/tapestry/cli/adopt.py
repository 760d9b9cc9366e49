"""`tapestry adopt`: an existing table becomes the table of a model of ours."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.confirm import confirm
from tapestry.cli.models import BrokenProject, Manifest, names_of_kinds, open_models, read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import TapestryError
from tapestry.quoting import relation_name
from tapestry.report.text import length
from tapestry.runs.engine.instants import show
from tapestry.runs.kinds.registry import kind_of, kinds_of_answers
from tapestry.schedule.warm import OK, Warm
from tapestry.words import counted

if TYPE_CHECKING:
    from tapestry.runs.protocol.adoption import AdoptionComparison, Differences

EXAMPLE = """\b
Example:
  tapestry adopt unanswered
  tapestry adopt unanswered --arrived loaded_at --extra drop --yes
  tapestry adopt unanswered --up-to 2026-03-01 --dry-run --json

Use it to take over the table of a hand-written incremental model: write its query as a continuous
model with the name of the table, then adopt it. The command compares the rows of the table, with
duplicates, with all answers up to an instant (now, or --up-to), and shows missing rows and rows too
many. Then it builds the table anew, in one commit, with exactly the answers and the first instant
of each. The old content stays readable under its version.

A maintained model takes over a table with the columns of its query: one commit writes the rows that
differ from the answer, and the others stay.

Exit codes: 0 adopted (--dry-run: the table is right), 1 not adopted (--dry-run: it is not).
"""


class ExtraRows(TapestryError):
    """A table has rows that are no answers of its query."""


@click.command(epilog=EXAMPLE)
@click.argument("model", shell_complete=models_of_ours)
@click.option(
    "--up-to",
    metavar="INSTANT",
    help="The instant up to which the table is compared and adopted; default: now.",
)
@click.option(
    "--arrived",
    help="Column of the table with the time at which a row came in; it is compared too.",
)
@click.option(
    "--extra",
    type=click.Choice(["drop", "refuse"]),
    default="refuse",
    show_default=True,
    help="Rows of the table that are no answers: drop them, or refuse to adopt it.",
)
@click.option("--dry-run", is_flag=True, help="Only compare.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def adopt(
    model: str,
    up_to: str | None,
    arrived: str | None,
    extra: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Compare MODEL's existing table with its query, and take it over."""
    manifest = read_manifest(given)
    warm = Warm(manifest.arguments, manifest.parsed)  # before anything is compiled
    why = "write its query with materialized: continuous, or maintained, first"
    (name,) = names_of_kinds(manifest, [model], kinds_of_answers(), why)
    found = _compared(manifest, name, up_to, arrived)
    anew = kind_of(found.model).arrival is not None
    if as_json:
        click.echo(json.dumps(_described(found), indent=2, default=str))
    else:
        for line in _sentences(found):
            click.echo(line)
    if dry_run:
        click.get_current_context().exit(0 if found.same else 1)
    if anew and found.extra.rows and extra == "refuse":
        raise ExtraRows(
            f"{found.model.relation} has {counted(found.extra.rows, 'row')} that are no answers"
            " of the query",
            where=found.model.file,
            hint="--extra drop leaves them out; correct the query if they ought to be answers",
        )
    if not yes:
        did = "Build {} anew with the answers?" if anew else "Write the rows that differ into {}?"
        confirm(did.format(found.model.relation), as_json)
    _take_over(warm, name, found) if anew else _write_what_differs(manifest, name, found)
    if not as_json:
        click.echo(f"{name}: adopted. As it was: {_as_it_was(found)}")


def _compared(
    manifest: Manifest,
    name: str,
    up_to: str | None,
    arrived: str | None,
) -> AdoptionComparison:
    from tapestry.runs.protocol.adoption import compare

    with open_models(manifest, [name], up_to) as opened:
        model = opened.models[name]
        return compare(opened.session, kind_of(model), model, opened.invocation, arrived)


def _take_over(warm: Warm, name: str, found: AdoptionComparison) -> None:
    """Build the model by dbt, with its partitions, constraints, grants, hooks and checks."""
    ran = warm.run([name], found.t, ["--full-refresh"])
    failed = [one for one in ran if one.status != OK]
    if failed or not ran:
        reason = failed[0].message if failed else "dbt ran nothing"
        raise BrokenProject(reason, found.model.file, "nothing was changed; see logs/dbt.log")


def _write_what_differs(manifest: Manifest, name: str, found: AdoptionComparison) -> None:
    """Write only the rows that differ; the table and its right rows stay."""
    from tapestry.cli.carry_out import carry_out
    from tapestry.runs.protocol.kind import BroughtToState

    with open_models(manifest, [name], f"{show(found.t)}Z") as opened:
        model, session, invocation = opened.models[name], opened.session, opened.invocation
        kind = kind_of(model)
        assert isinstance(kind, BroughtToState)  # its table has no instants to be built anew by
        carry_out(opened, kind.adopting(session, model, invocation))


def _as_it_was(found: AdoptionComparison) -> str:
    return f"SELECT * FROM {relation_name(found.model.relation)} VERSION AS OF {found.version}"


def _sentences(found: AdoptionComparison) -> list[str]:
    """Return the result as lines for people."""
    name = found.model.name
    lines = [
        f"{name}: {counted(found.rows, 'row')} in the table,"
        f" {counted(found.answers, 'answer')} up to {show(found.t)}"
    ]
    if found.same:
        lines.append(f"{name}: the table holds exactly the answers")
    if found.missing.rows:
        since = f" (the first from {show(found.missing_from)})" if found.missing_from else ""
        lines += [
            f"{name}: {counted(found.missing.rows, 'row')} missing{since}",
            *_examples(found.missing),
        ]
    if found.extra.rows:
        lines += [f"{name}: {counted(found.extra.rows, 'row')} too many", *_examples(found.extra)]
    if found.early:
        lines.append(f"{name}: {counted(found.early, 'row')} came in before being an answer")
    if found.late is not None:
        late = length(timedelta(seconds=found.late))
        lines.append(f"{name}: rows came in up to {late} after they became answers")
    if found.other_columns:
        lines.append(f"{name}: columns that go: {', '.join(found.other_columns)}")
    return lines + [f"{name}: {warning}" for warning in found.warnings]


def _examples(found: Differences) -> list[str]:
    return [
        "  " + ", ".join(f"{column} = {value}" for column, value in row.items())[:200]
        for row in found.examples
    ]


def _described(found: AdoptionComparison) -> dict[str, Any]:
    return {
        "model": found.model.name,
        "up_to": show(found.t),
        "version": found.version,
        "rows": found.rows,
        "answers": found.answers,
        "missing": {"rows": found.missing.rows, "examples": found.missing.examples},
        "extra": {"rows": found.extra.rows, "examples": found.extra.examples},
        "missing_from": show(found.missing_from) if found.missing_from else None,
        "early": found.early,
        "late_seconds": found.late,
        "other_columns": list(found.other_columns),
        "warnings": list(found.warnings),
    }
