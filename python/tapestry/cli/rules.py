"""`tapestry rules`: the batches of actions that are not done; replay or drop one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import open_project
from tapestry.errors import ConfigurationError
from tapestry.words import printable

if TYPE_CHECKING:
    from tapestry.cli.models import Manifest
    from tapestry.runs.tables.batches import ActionBatch, ActionLife, BatchesOfAction

EXAMPLE = """\b
Examples:
  tapestry rules
  tapestry rules --replay compute_comps/7/1
  tapestry rules --drop compute_comps/7/1
  tapestry rules --json | jq '.[] | select(.event == "dead")'

A batch is listed until it is done: claimed by a run, failed and waiting for its next attempt, or
dead. --replay gives a dead batch to the next run of its action, with the same rows and all its
attempts; --drop gives it up: its rows are never acted upon.

Exit codes: 0 done, 1 the table cannot be read or written, 2 wrong usage or no such batch.
"""


@click.command(epilog=EXAMPLE, short_help="List batches of actions; replay or drop one.")
@click.option("--replay", metavar="BATCH", help="Let the next run execute a dead batch again.")
@click.option("--drop", metavar="BATCH", help="Give a dead batch up.")
@click.option("--json", "as_json", is_flag=True, help="The batches as JSON.")
@project_options
def rules(replay: str | None, drop: str | None, as_json: bool, given: DbtOptions) -> None:
    """List the batches of actions that are not done; replay or drop a dead one."""
    from tapestry.cli.models import read_manifest

    if replay is not None and drop is not None:
        raise click.UsageError("--replay and --drop at once: give one of them")
    manifest = read_manifest(given)
    if replay is not None or drop is not None:
        said = _settle(manifest, replay or drop or "", replay is not None)
        click.echo(json.dumps({"said": said}) if as_json else said)
        return
    listed = [_told(name, one) for name, one in _open(manifest)]
    if as_json:
        click.echo(json.dumps(listed, indent=2))
    elif not listed:
        click.echo("no batch waits for an attempt, and none is dead")
    else:
        for one in listed:
            click.echo("  ".join(str(value) for value in one.values() if value not in (None, "")))


def _actions(manifest: Manifest) -> dict[str, str]:
    """The relations of the project's actions, by their names."""
    from tapestry.runs.query.relations import plain

    nodes = manifest.models.items()
    found = {n: node for n, node in nodes if node["config"].get("materialized") == "action"}
    return {name: plain(node["relation_name"]) for name, node in found.items()}


def _open(manifest: Manifest) -> list[tuple[str, ActionBatch]]:
    found = []
    with open_project(manifest.given) as project:
        for name, relation in sorted(_actions(manifest).items()):
            batches = _batches(project, relation)
            life = batches.life()
            found += [(name, one) for one in batches.unfinished(life)] if life is not None else []
    return found


def _batches(project: Any, relation: str) -> BatchesOfAction:
    from tapestry.names import STATE_TABLE
    from tapestry.runs.tables.batches import BatchesOfAction, batches_table

    table = batches_table(f"{project.schema}.{STATE_TABLE}")
    return BatchesOfAction(project.session, table, relation)


def _settle(manifest: Manifest, named: str, again: bool) -> str:
    """Replay or drop a dead batch; raises ConfigurationError where there is none of that name."""
    from tapestry.instants import now_utc
    from tapestry.runs.tables.batches import DEAD, DROPPED, REPLAYED

    action, _, place = named.partition("/")
    actions = _actions(manifest)
    if action not in actions:
        raise ConfigurationError(
            f"the project has no action {printable(action)}",
            hint="name a batch as `tapestry rules` does, like compute_comps/7/1",
        )
    with open_project(manifest.given) as project:
        batches = _batches(project, actions[action])
        life = batches.life()
        dead = [] if life is None else [b for b in batches.unfinished(life) if b.event.what == DEAD]
        one = next((batch for batch in dead if batch.place == place), None)
        if life is None or one is None:
            raise ConfigurationError(
                f"{printable(named)} is no dead batch",
                hint=f"dead are: {', '.join(f'{action}/{b.place}' for b in dead) or 'none'}",
            )
        if not again:
            batches.note_events(life, [one.became(DROPPED, now_utc(), 0)])
            return f"{named}: dropped"
        new = _claimed_again(batches, life, one)
        batches.note_events(life, [one.became(REPLAYED, now_utc(), 0)])
    return f"{named}: the next run of {action} executes it as {action}/{new.place}"


def _claimed_again(batches: BatchesOfAction, life: ActionLife, dead: ActionBatch) -> ActionBatch:
    """The same rows as a new batch, whose lease is over: whoever runs next executes it."""
    from tapestry.instants import now_utc
    from tapestry.quoting import string
    from tapestry.runs.tables.batches import CLAIMED, BatchEvent

    now, claim_id = now_utc(), f"replay of {dead.place}"
    event = BatchEvent(CLAIMED, 1, claim_id, now, now)
    earlier = batches.read_rows("m", f"life = {string(life.id)} AND claim_id = {string(claim_id)}")
    if earlier:  # claimed by a command that was killed before it was done
        return replace(dead, m=int(earlier[0][0]), i=1, wave=0, event=event)
    new = replace(dead, m=batches.last_round(life) + 1, i=1, wave=0, event=event)
    if not batches.claim_round(life, [new]):
        raise ConfigurationError(
            "a run of the action has begun at the same time", hint="try once more"
        )
    return new


def _told(name: str, one: ActionBatch) -> dict[str, Any]:
    event = one.event
    return {
        "batch": f"{name}/{one.place}",
        "event": event.what,
        "key": one.key,
        "firings": one.firings,
        "rows": one.rows,
        "attempt": event.attempt,
        "at": None if event.at is None else event.at.isoformat(),
        "error": None if event.error is None else printable(event.error),
    }
