"""Judges actions: one with a dead batch is not well; one with a failed batch needs a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tapestry.report.acted import ActionRecord, SeenBatch
from tapestry.report.artifacts import Artifacts
from tapestry.report.record import Record
from tapestry.report.standing import ModelStanding, Trouble
from tapestry.runs.tables.action_batch import DEAD, FAILED
from tapestry.words import counted

DRIFT = "drift"
"""The kind of a check of a derived table."""
NAMED = 3
"""So many batches are named, the newest ones."""


def with_batches(standing: ModelStanding, acted: ActionRecord | None) -> ModelStanding:
    """The standing with what the batches of an action say; one that is gone stays as it is."""
    if acted is None or standing.gone:
        return standing
    troubles = (*standing.troubles, *_troubles(standing.name, acted))
    return replace(standing, acted=acted, troubles=troubles)


def _troubles(name: str, acted: ActionRecord) -> Iterator[Trouble]:
    if dead := acted.with_event(DEAD):
        named = _named(dead)
        yield Trouble(
            name,
            f"{counted(len(dead), 'batch is', 'batches are')} dead: {named}",
            serious=True,
            since=min(one.at for one in dead),
            why=dead[0].error or "the table holds no message",
            do="correct the cause, then tapestry rules replay"
            f" {dead[0].name}; or drop it (tapestry rules show prints its rows)",
        )
    if failed := acted.with_event(FAILED):
        yield Trouble(
            name,
            f"{counted(len(failed), 'batch has', 'batches have')} failed and will be tried again:"
            f" {_named(failed)}",
            serious=False,
            since=min(one.at for one in failed),
            why=failed[0].error or "the table holds no message",
            do="nothing, if the cause passes; tapestry rules lists them",
        )


def _named(batches: Sequence[SeenBatch]) -> str:
    more = " …" if len(batches) > NAMED else ""
    return ", ".join(one.name for one in batches[:NAMED]) + more


def drift_by_action(record: Record, artifacts: Artifacts) -> dict[str, int]:
    """Return, by action, how many rows of its derived tables differ from their queries.

    As their newest checks found; an action without such a check is left out.
    """
    newest = {check.model: check for check in record.checks if check.kind == DRIFT}
    found: dict[str, int] = {}
    for node in artifacts.nodes.values():
        if node.relation not in record.actions:
            continue
        named = [artifacts.nodes[one].relation for one in node.parents if one in artifacts.nodes]
        checked = [newest[name] for name in named if name in newest]
        if checked:
            found[node.relation] = sum(check.violations or 0 for check in checked)
    return found
