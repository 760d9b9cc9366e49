"""The words of `tapestry rules` that are about some batches: show, replay, drop; and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from tapestry.cli.models import Manifest, Opened, open_models
from tapestry.cli.rules_seen import ACTION, told_batch
from tapestry.errors import ConfigurationError
from tapestry.instants import now_utc
from tapestry.quoting import identifier
from tapestry.runs.kinds.action.config import BY_CLOCK, config_of
from tapestry.runs.kinds.action.kind import Perform
from tapestry.runs.kinds.action.perform import BatchRound
from tapestry.runs.kinds.action.queue import queue_of
from tapestry.runs.kinds.action.statement import bound_names, bound_rows, refuse_gone
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.tables.action_batch import DEAD, DROPPED, REPLAYED, ActionBatch, ActionLife
from tapestry.runs.tables.batches import BatchesOfAction
from tapestry.runs.tables.bound_rows import SHOWN
from tapestry.words import counted, printable, with_article

EXAMPLE = "compute_comps/7/1"


def shown_batch(manifest: Manifest, named: str, limit: int) -> dict[str, Any]:
    """A batch and its rows in each bound table, as plain values.

    Raises ConfigurationError where there is no such batch, ActionFailed where its rows are gone.
    """
    action, place = _parted(manifest, named)
    with open_models(manifest, [action]) as opened:
        run = _round(opened, action)
        life = run.batches.life()
        m, i = place
        batch = None if life is None else run.batches.find_batch(life, m, i)
        if batch is None:
            raise _no_batch(named, "the action has none of that number")
        rules = list(queue_of(opened.session, run.model, opened.invocation).rules)
        refuse_gone(rules, batch)
        tables = {}
        for name in bound_names(rules):
            select = bound_rows(batch, rules, run.config, name)
            ((count,),) = opened.session.rows(f"SELECT count(*) FROM ({select})")
            columns = [column for column, _ in rules[0].bound[name].columns]
            shown = [*columns, *SHOWN]
            texts = ", ".join(f"CAST({one} AS STRING)" for one in map(identifier, shown))
            rows = opened.session.rows(
                f"SELECT {texts} FROM ({select}) ORDER BY {', '.join(SHOWN)} LIMIT {limit:d}"
            )
            listed = [["NULL" if v is None else printable(str(v)) for v in row] for row in rows]
            told = counted(int(count), "row")
            told += f", the first {len(rows):,}" if count > len(rows) else ""
            tables[name] = {"told": told, "columns": shown, "rows": listed}
        return {"batch": told_batch(action, batch), "tables": tables}


def settle_batches(manifest: Manifest, named: Sequence[str], again: bool) -> list[str]:
    """Replay or drop dead batches: what was done, a line each.

    Raises ConfigurationError where one of them is none, before any is touched.
    """
    wanted = [(one, *_parted(manifest, one)) for one in dict.fromkeys(named)]
    said = []
    with open_models(manifest, list(dict.fromkeys(action for _, action, _ in wanted))) as opened:
        found = []
        for name, action, place in wanted:
            batches = _round(opened, action).batches
            life = batches.life()
            dead = [] if life is None else batches.unfinished(life)
            dead = [one for one in dead if one.event.what == DEAD]
            batch = next((one for one in dead if (one.m, one.i) == place), None)
            if life is None or batch is None:
                listed = ", ".join(f"{action}/{one.place}" for one in dead)
                raise _no_batch(name, f"it is not dead: dead are {listed or 'none'}")
            found.append((name, action, batches, life, batch))
        for name, action, batches, life, batch in found:
            what, told = DROPPED, "dropped"
            if again:
                new = _claimed_again(batches, life, batch)
                what = REPLAYED
                told = f"the next run of {action} executes it as {action}/{new.place}"
            batches.note_events(life, [batch.became(what, now_utc(), 0)])
            said.append(f"{name}: {told}")
    return said


def ran_action(manifest: Manifest, action: str, at_once: bool) -> str:
    """Execute what is due of an action, or all that waits: what dbt's line would say.

    Raises ActionFailed where a batch is dead now.
    """
    _known(manifest, action)
    with open_models(manifest, [action]) as opened:
        plan = prepare(opened.session, opened.models[action], opened.invocation)
        assert isinstance(plan, Perform)
        if at_once and config_of(plan.model.config.own).batching == BY_CLOCK:
            raise ConfigurationError(
                f"{printable(action)} closes its batches by the clock: none is executed before it",
                hint="leave --now out",
            )
        plan = replace(plan, at_once=at_once)
        return str(execute(opened.session, plan, opened.invocation))


def _round(opened: Opened, action: str) -> BatchRound:
    return BatchRound(opened.session, opened.models[action], opened.invocation)


def _parted(manifest: Manifest, named: str) -> tuple[str, tuple[int, int]]:
    """The action of a batch, and its place; raises ConfigurationError for what names none."""
    action, _, place = named.partition("/")
    m, _, i = place.partition("/")
    if not (m.isascii() and m.isdecimal() and i.isascii() and i.isdecimal()) or len(place) > 30:
        raise _no_batch(named, "a batch is named by its action and two numbers")
    _known(manifest, action)
    return action, (int(m), int(i))


def _known(manifest: Manifest, action: str) -> None:
    if action in manifest.of_kinds({ACTION}):
        return
    if action in manifest.models:
        said = manifest.models[action]["config"].get("materialized")
        kind = manifest.kind(action) or said
        raise click.UsageError(
            f"{action} is {with_article(kind)} model: batches are those of actions"
        )
    raise ConfigurationError(
        f"the project has no action {printable(action)}",
        hint=f"name a batch as `tapestry rules` does, like {EXAMPLE}",
    )


def _no_batch(named: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{printable(named)} is no batch for this: {why}",
        hint=f"name one as `tapestry rules` does, like {EXAMPLE}",
    )


def _claimed_again(batches: BatchesOfAction, life: ActionLife, dead: ActionBatch) -> ActionBatch:
    new = batches.claim_replay(life, dead, now_utc())
    if new is None:
        raise ConfigurationError(
            "a run of the action has begun at the same time", hint="try once more"
        )
    return new
