"""Each action as `tapestry rules` has seen it: its rules, what waits, and what is not over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from tapestry.cli.models import Manifest, open_models
from tapestry.errors import TapestryError
from tapestry.runs.kinds.action.queue import ActionQueue, queue_of
from tapestry.runs.kinds.action.rule_rows import RuleRow, rule_rows
from tapestry.runs.tables.action_batch import ActionBatch
from tapestry.words import printable

ACTION = "action"


@dataclass(frozen=True)
class SeenAction:
    """An action of the project as it stands.

    error
        Why nothing can be told of it; "": it can.
    """

    name: str
    rows: tuple[RuleRow, ...] = ()
    queue: ActionQueue = field(default_factory=ActionQueue)
    error: str = ""


def seen_actions(manifest: Manifest) -> list[SeenAction]:
    """Look at every action of the project; of one that is not to be read the reason is told."""
    names, found = manifest.of_kinds({ACTION}), []
    if not names:
        return []
    with open_models(manifest, names) as opened:
        for name, model in opened.models.items():
            try:
                queue = queue_of(opened.session, model, opened.invocation)
                rows = tuple(rule_rows(opened.session, model, opened.invocation, queue))
                found.append(SeenAction(name, rows, queue))
            except TapestryError as error:
                found.append(SeenAction(name, error=printable(error.reason)))
    return found


def chosen_batches(
    seen: Sequence[SeenAction], wanted: Collection[str], now: datetime
) -> list[dict[str, Any]]:
    """The batches that were asked for, as plain values; nothing asked: those that are not over."""
    found = []
    for one in seen:
        batches: dict[str, ActionBatch] = {}
        if "due" in wanted:
            batches |= {f"{b.place}{b.key}": b for b in one.queue.due(now)}
        events = set(wanted) & {"failed", "dead"}
        for batch in one.queue.opened:
            if not wanted or batch.event.what in events:
                batches[f"{batch.place}{batch.key}"] = batch
        found += [told_batch(one.name, batch) for batch in batches.values()]
    return found


def told_row(row: RuleRow) -> dict[str, Any]:
    """A rule and an action as plain values."""
    told = asdict(row)
    told["next_release"] = _instant(row.next_release)
    return told


def told_batch(action: str, batch: ActionBatch) -> dict[str, Any]:
    """A batch as plain values; one that no run has claimed has no name yet."""
    event = batch.event
    claimed = batch.m > 0
    return {
        "batch": f"{action}/{batch.place}" if claimed else action,
        "event": event.what if claimed else "waiting",
        "key": batch.key,
        "firings": batch.firings,
        "rows": batch.rows,
        "release": _instant(batch.release),
        "attempt": event.attempt if claimed else None,
        "at": _instant(event.at),
        "error": None if event.error is None else printable(event.error),
    }


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
