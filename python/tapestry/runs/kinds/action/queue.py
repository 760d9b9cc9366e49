"""The batches that wait for an action now: those not claimed yet, and those not over.

Nothing is written. A waiting batch is what a run would claim if it were due; until then it may
get more rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tapestry.instants import LAST
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.perform import BatchRound
from tapestry.runs.kinds.action.python_call import targets_of
from tapestry.runs.kinds.action.rules_read import RuleRead, read_rules
from tapestry.runs.model.model import Model
from tapestry.runs.tables.action_batch import CLAIMED, FAILED, WAITS, ActionBatch

MOST: Final = 10_000
"""So many batches that wait are looked at, the first ones to be released."""


@dataclass(frozen=True)
class ActionQueue:
    """The batches of an action that are not done.

    rules
        Its rules as they stand; none: one of them has not run yet, and nothing waits.
    waiting
        Those that no run has claimed, in the order of their release.
    opened
        Those that were claimed and are not over, each by its last event.
    attempts
        When each of those is executed again, by its place.
    held
        The keys whose later batches are not claimed before an earlier one is over.
    """

    rules: tuple[RuleRead, ...] = ()
    waiting: tuple[ActionBatch, ...] = ()
    opened: tuple[ActionBatch, ...] = ()
    attempts: tuple[tuple[str, datetime], ...] = ()
    held: frozenset[str] = frozenset()

    @property
    def next_release(self) -> datetime | None:
        """The release of the first waiting batch; None: none waits."""
        return min((one.release for one in self.waiting), default=None)

    @property
    def next_due(self) -> datetime | None:
        """The instant at which a run has something to do; None: not before a rule fires."""
        released = (one.release for one in self.waiting if one.key not in self.held)
        return min([*released, *(at for _, at in self.attempts)], default=None)

    def due(self, t: datetime) -> list[ActionBatch]:
        """Return the batches that a run at t would execute."""
        again = {place for place, at in self.attempts if at <= t}
        found = [one for one in self.opened if one.place in again]
        return [
            *found,
            *(one for one in self.waiting if one.release <= t and one.key not in self.held),
        ]


def queue_of(session: Session, model: Model, invocation: Invocation) -> ActionQueue:
    """Return the batches that wait for an action.

    Raises the errors that a run of the action would raise for its rules.
    """
    run = BatchRound(session, model, invocation)
    written = targets_of(model)
    rules = read_rules(session, model, invocation, written)
    last = run.batches.life()
    if rules is None or last is None:
        return ActionQueue(tuple(rules or ()))
    life = run.lives(rules).of_run(last, False)
    opened = run.batches.unfinished(life)
    waiting = run.waiting(life, rules).due(LAST, MOST)
    attempts = tuple(_attempts(run, opened))
    return ActionQueue(
        tuple(rules), tuple(waiting), tuple(opened), attempts, frozenset(run.held(opened, rules))
    )


def _attempts(run: BatchRound, opened: Sequence[ActionBatch]) -> Iterator[tuple[str, datetime]]:
    for one in opened:
        last = one.event
        if last.what == FAILED:
            yield one.place, run.waits_until(last)
        elif last.what == WAITS:
            yield one.place, one.release
        elif last.what == CLAIMED and last.lease_until is not None:
            yield one.place, last.lease_until
