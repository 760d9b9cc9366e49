"""A round of batches: claimed in one commit, each executed once, noted in one commit.

    claim      one INSERT under (action and life, m): one process wins the round
    execute    each statement of a batch under a transaction of its own: it lands once, whoever
               executes it again, in whatever order
    done       one INSERT for the round

Killed before the claim nothing has happened; after it the same cuts are executed again, once the
lease is over, and what has landed is skipped (rules, section 7).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from time import monotonic
from uuid import uuid4

from tapestry.errors import ActionFailed
from tapestry.instants import LAST, now_utc
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, planned_once
from tapestry.runs.kinds.action.baselines import Baselines, unheld_rules
from tapestry.runs.kinds.action.claimed_batches import ClaimedBatches
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.landing import FOREVER, DerivedTargets
from tapestry.runs.kinds.action.lives import LivesOfAction
from tapestry.runs.kinds.action.python_call import parts_of, targets_of
from tapestry.runs.kinds.action.rules_read import (
    RuleRead,
    blocks_key,
    held_up,
    read_rules,
    rules_that_ran,
    split_by,
)
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.kinds.action.waves import in_waves, together_or_not
from tapestry.runs.kinds.action.written import say_what_is_written
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.tables.action_batch import (
    CLAIMED,
    DEAD,
    DONE,
    FAILED,
    ActionBatch,
    ActionLife,
    ActionStanding,
    BatchEvent,
)
from tapestry.runs.tables.batches import BatchesOfAction, batches_table
from tapestry.words import counted

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Performed(Outcome):
    """The outcome of a run of an action, with the batches that it has executed."""

    batches: int = 0
    firings: int = 0
    failed: int = 0
    more: bool = False

    def _what(self) -> str:
        if self.action == "nothing":
            return "nothing due"
        done = f"{counted(self.batches, 'batch', 'batches')} of {counted(self.firings, 'firing')}"
        failed = f", {self.failed} failed" if self.failed else ""
        return done + failed + ("; max_batches is reached, more are due" if self.more else "")


@dataclass(frozen=True)
class BatchRound:
    """One run of one action."""

    session: Session
    model: Model
    invocation: Invocation
    at_once: bool = False
    targets: DerivedTargets = field(default_factory=DerivedTargets)

    @property
    def config(self) -> ActionConfig:
        """The keys that its author has written."""
        return config_of(self.model.config.own)

    @property
    def batches(self) -> BatchesOfAction:
        """The table of its batches."""
        table = batches_table(self.invocation.state_table)
        return BatchesOfAction(self.session, table, self.model.relation, self.config.deadline)

    def run(self, anew: bool) -> Outcome:
        """Execute the batches that are due (``Perform.carry_out``)."""
        written = targets_of(self.model)
        targets = DerivedTargets.there(self.session, written)
        # The author's statements have sessions of their own.
        with planned_once(self.session, True):
            return replace(self, targets=targets).run_for(written, anew)

    def run_for(self, written: Sequence[str], anew: bool) -> Outcome:
        """Execute the batches that are due, of an action that writes these tables."""
        parts = parts_of(self.model)
        rules = read_rules(self.session, self.model, self.invocation, written)
        if rules is None:
            self.begin_early()
            return Performed("nothing", None, None)
        standing = self.batches.standing()
        life = self.life(rules, anew, standing)
        if standing.life is None or standing.life.id != life.id:
            standing = ActionStanding()
        for rule in rules if self.config.unique_on else ():
            split_by(self.model, rule, self.config.unique_on)
        say_what_is_written(self.session, self.model, self.invocation, rules, parts, written)
        if held_up(self.session, self.model, self.invocation, rules, written):
            return Performed("nothing", None, None)
        together = cache(partial(together_or_not, self.session, self.model, rules, parts))
        if self.config.together == "true":
            together()  # where it is not, that is an error, whether anything is due or not
        spent = self.lives(rules).spent_rows(self.waiting(life, rules))
        opened = list(standing.opened)
        if any(rule.baseline >= 0 for rule in rules):
            waiting = self.waiting(life, unheld_rules(rules))
            opened = Baselines(self.batches, rules, waiting).settle(opened)
        again = self.again(opened, rules)
        due = self.due(self.waiting(life, rules), opened, len(again))
        most = self.config.max_batches - len(again)
        more, due = len(due) > most, due[:most]
        blocking = self.blocking(opened, rules)
        if not again and not due:
            return self.told([], blocking)
        new = self.claimed(life, due, standing.rounds, together() is not None)
        if not again and not new:
            return self.told([], blocking)
        crash.point("batches_claimed")
        until = monotonic() + (self.config.timeout.total_seconds() or FOREVER)
        claimed = ClaimedBatches(
            self.session, self.model, self.invocation, self.targets, life, rules, parts, together()
        )
        ended = claimed.in_order(until).execute([*again, *new], [*opened, *new])
        for name in written:
            self.invocation.pins.left.add(name)
        crash.point("batches_executed")
        self.batches.note_events(life, ended)
        crash.point("batches_noted")
        if spent.is_due(standing):
            spent.let_go()
        return replace(self.told(ended, blocking), more=more)

    def begin_early(self) -> None:
        """Begin the first life of an action of which a rule has not run yet."""
        if self.batches.standing().life is None:
            there = rules_that_ran(self.session, self.model, self.invocation)
            self.batches.begin_life(self.lives(there).of_run(None, False), now_utc())

    def life(self, rules: Sequence[RuleRead], anew: bool, standing: ActionStanding) -> ActionLife:
        """The life of the action, begun where this run is the first in it."""
        last = standing.life
        found = self.lives(rules).of_run(last, anew)
        if found == last:
            if not standing.rounds:  # one that was killed as it began a life has made no view
                self.batches.make_view()
            return found
        new = [rule for rule in rules if last is None or rule.relation not in last.begin]
        self.lives(rules).spent_rows(self.waiting(found, rules)).refuse_removed(new)
        return self.batches.begin_life(found, now_utc())

    def lives(self, rules: Sequence[RuleRead]) -> LivesOfAction:
        """Return the lives of the action, over its rules as they stand."""
        return LivesOfAction(self.session, self.model, self.invocation, self.batches, rules)

    def waiting(self, life: ActionLife, rules: Sequence[RuleRead]) -> WaitingFirings:
        """Return the firings of rules that wait in a life."""
        return WaitingFirings(self.session, self.model, self.config, life, rules, self.invocation)

    def again(self, opened: Sequence[ActionBatch], rules: Sequence[RuleRead]) -> list[ActionBatch]:
        """Return the batches, open from before, that are to be executed now.

        None before an earlier one of its key: they are in the order in which they were opened, a
        replayed one with what was behind it.
        """
        now, blocks = now_utc(), blocks_key(self.config, rules)
        found: list[ActionBatch] = []
        stopped: set[str | None] = set()
        for one in sorted(opened, key=lambda one: (one.release, one.first_commit_time)):
            last = one.event
            if one.key is not None and one.key in stopped:
                continue
            if self.rests(last, now):
                if last.what != DEAD or blocks:
                    stopped.add(one.key)
                continue
            attempt = last.attempt + (last.what == FAILED)
            event = self.leased(attempt, now, one.next_claim_id(uuid4().hex))
            found.append(replace(one, event=event, again=True))
        return found

    def rests(self, last: BatchEvent, now: datetime) -> bool:
        """Return whether a batch with this last event is left as it is now."""
        if last.what == CLAIMED:
            return last.lease_until is None or last.lease_until > now
        t = LAST if self.at_once else self.invocation.clock.instant
        return last.what == DEAD or (last.what == FAILED and self.waits_until(last) > t)

    def waits_until(self, failed: BatchEvent) -> datetime:
        """Return when a failed batch is executed again, by t."""
        assert failed.lease_until is not None
        return failed.lease_until

    def leased(self, attempt: int, now: datetime, claim_id: str) -> BatchEvent:
        """Return the event of a batch that this run holds."""
        return BatchEvent(CLAIMED, attempt, claim_id, now + self.config.lease, now)

    def due(
        self, waiting: WaitingFirings, opened: Sequence[ActionBatch], taken: int
    ) -> list[ActionBatch]:
        """The batches that are due, and that nobody has claimed: one more than a run takes.

        ``opened`` are those that are not over, of which ``taken`` are executed in this run already.
        """
        most = self.config.max_batches - taken
        if most <= 0:
            return []
        by = LAST if self.at_once else waiting.closed_by()
        return waiting.due(by, most + 1, self.held(opened, waiting.rules))

    def claimed(
        self, life: ActionLife, due: Sequence[ActionBatch], rounds: int, together: bool
    ) -> list[ActionBatch]:
        """The batches, claimed by this run after so many rounds; none where another process was
        faster.

        ``together``: they are executed in waves.
        """
        if not due:
            return []
        m = rounds + 1
        event = self.leased(1, now_utc(), uuid4().hex)
        taken = [replace(batch, m=m, i=i, event=event) for i, batch in enumerate(due, start=1)]
        if together:
            taken = in_waves(taken, self.config.max_depth)
        return taken if self.batches.claim_round(life, taken) else []

    def held(self, opened: Sequence[ActionBatch], rules: Sequence[RuleRead]) -> set[str]:
        """Return the keys of batches that are not over: later batches of these keys wait."""
        blocks = blocks_key(self.config, rules)
        waits = (one.key for one in opened if one.event.what != DEAD or blocks)
        return {key for key in waits if key is not None}

    def blocking(
        self, opened: Sequence[ActionBatch], rules: Sequence[RuleRead]
    ) -> list[ActionBatch]:
        """Return the dead batches behind which rows of their keys wait."""
        dead = [one for one in opened if one.event.what == DEAD and one.key is not None]
        return dead if blocks_key(self.config, rules) else []

    def told(self, ended: Sequence[ActionBatch], blocking: Sequence[ActionBatch]) -> Performed:
        """Return the outcome of the run.

        Raises ActionFailed where a batch is dead now, or blocks its key since an earlier run.
        """
        if not ended and not blocking:
            return Performed("nothing", None, None)
        dead = [one for one in ended if one.event.what == DEAD] or list(blocking)
        if dead:
            attempts = dead[0].event.attempt
            said = f"failed {counted(attempts, 'time')}" if attempts else "cannot be executed"
            raise ActionFailed(
                f"{counted(len(dead), 'batch', 'batches')} of {self.model.name} {said}:"
                f" {dead[0].event.error}",
                where=self.model.file,
                hint="correct it, then tapestry rules replay"
                f" {self.model.name}/{dead[0].place}; or drop it",
            )
        failed = sum(one.event.what == FAILED for one in ended)
        done = [one for one in ended if one.event.what == DONE]
        firings = sum(one.firings for one in done)
        rows = sum(one.rows for one in done)
        return Performed(
            "perform", None, None, rows=rows, batches=len(done), firings=firings, failed=failed
        )
