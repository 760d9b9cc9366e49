"""`tapestry rewind`: a model's table as it was at an instant, to go on from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.confirm import confirm
from tapestry.cli.models import Opened, names_of_kinds, open_models, read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import TapestryError
from tapestry.runs.engine.instants import parse_instant, parse_zone, show
from tapestry.runs.kinds.registry import kind_of, kinds_of_answers
from tapestry.runs.tables.target import look
from tapestry.words import counted

if TYPE_CHECKING:
    from tapestry.runs.kinds.continuous.after.rewind import Rewind
    from tapestry.runs.protocol.kind import BroughtToState

EXAMPLE = """\b
Example:
  tapestry rewind unanswered --to 2026-03-01
  tapestry rewind unanswered --to '2026-03-01 12:00:00+01:00' --downstream --yes
  tapestry rewind unanswered --to 2026-03-01 --yes --json

Use it after runs with a wrong clock or wrong data. The answers that began after the instant are
deleted in one commit, and the next run continues from there, as if the run that passed the instant
had ended at it. Rows that became readable later count again: by their arrival column if that is
after the instant, otherwise immediately after the instant. Continuous models that have read deleted
answers are listed; --downstream rewinds them too.

The table of a maintained model is restored to its state after the last run up to the instant. One
commit writes the rows that differ, and the next run continues from the versions that this run read.

Exit codes: 0 rewound, or nothing to delete; 1 not rewound; 3 another run of the model committed
first.
"""


class ReadDownstream(TapestryError):
    """Other continuous models have read answers that were to be forgotten."""


@dataclass(frozen=True)
class _Wish:
    """The options on the command line."""

    to: str
    downstream: bool
    yes: bool
    as_json: bool


@click.command(epilog=EXAMPLE)
@click.argument("model", shell_complete=models_of_ours)
@click.option(
    "--to",
    required=True,
    metavar="INSTANT",
    help="The instant; without an offset in the session's time zone.",
)
@click.option(
    "--downstream", is_flag=True, help="Also rewind the models that have read deleted answers."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def rewind(
    model: str,
    to: str,
    downstream: bool,
    yes: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Delete the answers of MODEL that began after an instant; its next run goes on from there."""
    from tapestry.runs.protocol.kind import BroughtToState

    manifest = read_manifest(given)
    (name,) = names_of_kinds(manifest, [model], kinds_of_answers(), "there is nothing to rewind")
    wish = _Wish(to, downstream, yes, as_json)
    opening = manifest.continuous() if name in manifest.continuous() else [name]
    with open_models(manifest, opening) as opened:
        invocation, root = opened.invocation, opened.models[name]
        instant = parse_instant(to, "--to", parse_zone(invocation.time_zone))
        kind = kind_of(root)
        if isinstance(kind, BroughtToState):
            done = _brought_back(opened, kind, root, instant, wish)
        else:
            models = list(opened.models.values())
            forgotten = _rewound(opened.session, invocation, root, models, instant, wish)
            done = [_described(one) for one in forgotten]
    if as_json:
        click.echo(json.dumps(done, indent=2))
    elif not done:
        click.echo(f"{name}: nothing to forget")


def _brought_back(
    opened: Opened, kind: BroughtToState, root: Any, to: datetime, wish: _Wish
) -> list[dict[str, Any]]:
    """Plan, ask, and carry out: the table is as one of its runs left it."""
    from tapestry.cli.carry_out import carry_out
    from tapestry.runs.query.holding import release

    planned = kind.rewinding(opened.session, root, opened.invocation, to)
    if planned is None:
        return []
    try:
        rows = planned.told.figures.refreshed
        if not wish.as_json:
            came = counted(rows.inserted or 0, "row")
            click.echo(
                f"{root.name}: back to the run of {show(planned.t)}: {came} come in,"
                f" {rows.updated} take the place of others, {rows.deleted} go"
            )
        if not wish.yes:
            confirm("Bring the table there?", wish.as_json)
    except BaseException:
        release(opened.session, planned.rows.holding)
        raise
    carry_out(opened, planned)
    if not wish.as_json:
        click.echo(f"{root.name}: rewound to {show(planned.t)}")
    return [
        {
            "model": root.name,
            "to": show(planned.t),
            "inserted": rows.inserted,
            "updated": rows.updated,
            "deleted": rows.deleted,
            "generation": planned.row.generation,
        }
    ]


def _rewound(
    session: Any, invocation: Any, root: Any, models: Sequence[Any], to: datetime, wish: _Wish
) -> list[Rewind]:
    """Plan, ask, and carry out: the model first, then those that read it."""
    from tapestry.runs.kinds.continuous.after.downstream import affected
    from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
    from tapestry.runs.kinds.continuous.after.rewind import rewind
    from tapestry.runs.sources.pins import Pin, newest_version

    first = plan_rewind(session, root, invocation, to)
    readers = affected(session, invocation, root, models, to)
    planned = [plan_rewind(session, one, invocation, to) for one in readers]
    if readers and not wish.downstream:
        raise ReadDownstream(
            f"what {root.name} answered after {wish.to} was read by"
            f" {', '.join(one.name for one in readers)}",
            hint="--downstream rewinds them too",
        )
    if first is None and not readers:
        return []
    _ask([one for one in (first, *planned) if one is not None], to, wish)
    done: list[Rewind] = []
    moved: dict[str, Pin] = {}
    for one in (root, *readers):
        upstream = {} if one is root else moved
        again = plan_rewind(
            session, one, invocation, to, _read_by(session, invocation, one, upstream)
        )
        if again is not None:
            rewind(session, again, invocation)
            done.append(again)
            if not wish.as_json:
                click.echo(_sentence(again))
        there = look(session, one.relation)
        assert there is not None
        moved[one.relation] = Pin(there.table_id, newest_version(session, one.relation))
    return done


def _read_by(session: Any, invocation: Any, model: Any, moved: dict[str, Any]) -> dict[str, Any]:
    """Return the rewound tables that a model reads."""
    from tapestry.runs.kinds.continuous.after.downstream import state_of

    row = state_of(session, invocation, model)
    return {name: pin for name, pin in moved.items() if row is not None and name in row.after.pins}


def _ask(planned: Sequence[Rewind], to: datetime, wish: _Wish) -> None:
    """Show what will be forgotten, and go on only with a yes."""
    for one in planned:
        if not wish.as_json:
            click.echo(f"{one.model.name}: {_size(one)} will be forgotten")
        for warning in one.warnings:
            click.echo(f"{one.model.name}: {warning}", err=True)
        if one.model.config.deliver and not wish.as_json:
            click.echo(f"{one.model.name}: what is answered after that is delivered anew")
    if not wish.yes:
        confirm("Forget them?", wish.as_json)


def _size(one: Rewind) -> str:
    return (
        f"{counted(one.answers, 'answer')} in ({show(one.row.after.t)}, {show(one.newest.after.t)}]"
    )


def _sentence(one: Rewind) -> str:
    return f"{one.model.name}: rewound to {show(one.row.after.t)}; {_size(one)} forgotten"


def _described(one: Rewind) -> dict[str, Any]:
    return {
        "model": one.model.name,
        "to": show(one.row.after.t),
        "from": show(one.newest.after.t),
        "answers": one.answers,
        "runs": one.runs,
        "generation": one.row.generation,
        "warnings": list(one.warnings),
    }
