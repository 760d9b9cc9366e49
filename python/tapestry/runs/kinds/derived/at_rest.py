"""Reads a derived table and the actions that write it, as both stood at one moment."""

from __future__ import annotations

from tapestry.quoting import relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.rows_waiting import ActionRead
from tapestry.runs.protocol.standing_rules import standing_rule
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.pins import newest_version
from tapestry.runs.tables.batches import BatchesOfAction, batches_table
from tapestry.runs.tables.firings import firings_table
from tapestry.runs.tables.writers import Writer, writers_of

TRIES = 3


class NothingToCompareError(Exception):
    """There is nothing to compare the table with now; the text says why."""


def at_rest(
    session: Session, invocation: Invocation, relation: str
) -> tuple[int, list[ActionRead]]:
    """Return a version of the table, and its actions as they stood then.

    Each commit of the table is one of a batch that was claimed before: so the positions of rules
    are read after the version, and the table must still have that version when all is read. Raises
    NothingToCompareError where that does not succeed, and where no action has run.
    """
    state = invocation.state_table
    for _ in range(TRIES):
        version = newest_version(session, relation)
        writers = writers_of(session, state, plain(relation))
        if not writers:
            raise NothingToCompareError("no action that writes it has run yet")
        at = newest_version(session, batches_table(state).name)
        found = [_action(session, state, one, at) for one in writers]
        if newest_version(session, relation) == version:
            return version, found
    raise NothingToCompareError("its actions wrote to it all the time")


def _action(session: Session, state: str, writer: Writer, at: int) -> ActionRead:
    batches, firings = batches_table(state), firings_table(state)
    life = BatchesOfAction(session, batches, writer.action).life()
    rules = {name: standing_rule(session, state, name) for name in writer.rules}
    unknown = [name for name, rule in rules.items() if rule is None]
    if life is None or unknown:
        name = unknown[0] if unknown else writer.action
        raise NothingToCompareError(f"how far {name} has come is not known")
    there = tuple(rule for rule in rules.values() if rule is not None)
    batches_then = f"{relation_name(batches.name)} VERSION AS OF {at:d}"
    return ActionRead(writer, life, there, batches_then, relation_name(firings.name))
