"""`tapestry deliver`: bring what is new to the sinks of continuous models, without running them."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.models import names_of_kinds, open_models, read_manifest, refuse_kinds
from tapestry.cli.options import DbtOptions, project_options
from tapestry.runs.kinds.registry import kinds_of_answers

EXAMPLE = """\b
Example:
  tapestry deliver
  tapestry deliver unanswered --sink ops
  tapestry deliver --json | jq '.[] | select(.error != "")'

`dbt run` delivers after its models are done. Use this command for example after a sink was not
available: it sends all rows that runs have published and that a sink does not have yet.

Exit codes: 0 every sink has all rows; 1 one has not, and the next call sends the rest.
"""


INSTEAD = {
    "maintained": "its rows come, change and go, and deliver: sends each row once. A continuous"
    " model over the same sources delivers; whoever wants the changes of a table reads its change"
    " data feed",
}
"""Kind of model that delivers nothing -> the reason, and the alternative."""


@click.command(epilog=EXAMPLE)
@click.argument("models", metavar="[MODEL...]", nargs=-1, shell_complete=models_of_ours)
@click.option("--sink", "sinks", multiple=True, help="Only sinks of this name; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print the result for each sink as JSON.")
@project_options
def deliver(
    models: tuple[str, ...],
    sinks: tuple[str, ...],
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Send the new answers of continuous MODELs (all, if none is named) to their sinks."""
    from tapestry.delivery.deliver import deliver as deliver_all

    manifest = read_manifest(given)
    for name in models:
        refuse_kinds(manifest.model(name), INSTEAD)
    names = (
        names_of_kinds(manifest, models, kinds_of_answers(), "it delivers nothing")
        or manifest.of_answers()
    )
    with open_models(manifest, names) as opened:
        found = list(opened.models.values())
        known = {str(one.get("name")) for model in found for one in model.config.deliver}
        unknown = [sink for sink in sinks if sink not in known]
        if unknown:
            listed = ", ".join(sorted(known)) or "there are none"
            raise click.UsageError(f"there is no sink {unknown[0]}; sinks: {listed}")
        outcomes = deliver_all(opened.session, opened.invocation, found, manifest.root, sinks)
    if as_json:
        click.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        for outcome in outcomes:
            click.echo(str(outcome))
            for warning in outcome.warnings:
                click.echo(f"{outcome.model} to {outcome.sink}: {warning}", err=True)
        if not outcomes:
            click.echo("no model that has run says where to deliver")
    if any(outcome.error for outcome in outcomes):
        click.get_current_context().exit(1)
