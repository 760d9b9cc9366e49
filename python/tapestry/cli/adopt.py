"""`tapestry adopt`: an existing incremental table becomes the table of a continuous model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.confirm import confirm
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import TapestryError
from tapestry.quoting import relation_name
from tapestry.report.text import length
from tapestry.words import counted

if TYPE_CHECKING:
    from tapestry.runs.kinds.continuous.after.adopt import AdoptionComparison, Differences
    from tapestry.schedule.warm import Warm

EXAMPLE = """\b
Example:
  tapestry adopt unanswered
  tapestry adopt unanswered --arrived loaded_at --extra drop --yes
  tapestry adopt unanswered --up-to 2026-03-01 --dry-run --json

The way in for a hand-written incremental model: write its query as a continuous model under the
name of its table, then adopt it. Everything that was ever an answer up to an instant (now, unless
--up-to says another) is compared with the rows of the table, duplicates counted: what it missed,
and what it has too much. Then the table is built anew, in one commit, with exactly the answers and
the instant at which each began; its old content stays readable under its version.

Exit codes: 0 adopted (--dry-run: the table is right), 1 not adopted (--dry-run: it is not).
"""


INSTEAD = {
    "maintained": "nothing of its table is kept, for the answer is computed from its sources alone."
    " dbt run --full-refresh takes the table's place; what it held stays readable: SELECT …"
    " VERSION AS OF",
}
"""What to do with a model of another kind."""


class ExtraRows(TapestryError):
    """A table has rows that are no answers of its query."""


@click.command(epilog=EXAMPLE)
@click.argument("model", shell_complete=models_of_ours)
@click.option(
    "--up-to",
    metavar="INSTANT",
    help="The instant up to which it is compared and adopted; now by default.",
)
@click.option("--arrived", help="Column of the table that says when a row came in: compared, too.")
@click.option(
    "--extra",
    type=click.Choice(["drop", "refuse"]),
    default="refuse",
    show_default=True,
    help="Rows of the table that are no answers: drop them, or refuse.",
)
@click.option("--dry-run", is_flag=True, help="Compare only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="What was found as JSON.")
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
    from tapestry.cli.models import continuous_names, read_manifest
    from tapestry.schedule.warm import Warm

    manifest = read_manifest(given)
    warm = Warm(manifest.arguments, manifest.parsed)  # before anything is compiled
    why = "write its query with materialized: continuous first"
    (name,) = continuous_names(manifest, [model], why, INSTEAD)
    found = _compared(manifest, name, up_to, arrived)
    if as_json:
        click.echo(json.dumps(_described(found), indent=2, default=str))
    else:
        for line in _sentences(found):
            click.echo(line)
    if dry_run:
        click.get_current_context().exit(0 if found.same else 1)
    if found.extra.rows and extra == "refuse":
        raise ExtraRows(
            f"{found.model.relation} has {counted(found.extra.rows, 'row')} that are no answers"
            " of the query",
            where=found.model.file,
            hint="--extra drop leaves them out; correct the query if they ought to be answers",
        )
    if not yes:
        confirm(f"Build {found.model.relation} anew with the answers?", as_json)
    _take_over(warm, name, found)
    if not as_json:
        click.echo(f"{name}: adopted. As it was: {_as_it_was(found)}")


def _compared(
    manifest: Any,
    name: str,
    up_to: str | None,
    arrived: str | None,
) -> AdoptionComparison:
    from tapestry.cli.models import open_models
    from tapestry.runs.kinds.continuous.after.adopt import compare

    with open_models(manifest, [name], up_to) as opened:
        return compare(opened.session, opened.models[name], opened.invocation, arrived)


def _take_over(warm: Warm, name: str, found: AdoptionComparison) -> None:
    """dbt builds it, so that partitions, constraints, grants, hooks and checks are the model's."""
    from tapestry.cli.models import BrokenProject
    from tapestry.schedule.warm import OK

    ran = warm.run([name], found.t, ["--full-refresh"])
    failed = [one for one in ran if one.status != OK]
    if failed or not ran:
        reason = failed[0].message if failed else "dbt ran nothing"
        raise BrokenProject(reason, found.model.file, "nothing was changed; see logs/dbt.log")


def _as_it_was(found: AdoptionComparison) -> str:
    return f"SELECT * FROM {relation_name(found.model.relation)} VERSION AS OF {found.version}"


def _sentences(found: AdoptionComparison) -> list[str]:
    """What people read."""
    from tapestry.runs.engine.instants import show

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
    from tapestry.runs.engine.instants import show

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
