"""Executes the batches that a run of an action has claimed: each alone, or many in a wave.

    alone      each statement of a batch under a transaction of its own
    wave       batches in one statement and commit, or else one by one

Each transaction lands once, whoever executes it again, in whatever order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any

from tapestry.errors import RuleLoop
from tapestry.instants import micros, now_utc
from tapestry.quoting import Sql
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.in_order import BatchesInOrder
from tapestry.runs.kinds.action.landing import DerivedTargets, Landing, apart, land
from tapestry.runs.kinds.action.python_call import FunctionCall, targets_of
from tapestry.runs.kinds.action.recompute import Recompute, RecomputeBatch
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.statement import (
    ActionStatement,
    bound_names,
    bound_rows,
    refuse_gone,
    said_of,
    with_rows,
)
from tapestry.runs.kinds.action.together import OneStatement
from tapestry.runs.kinds.action.waves import closing_statement, landed, rows_of_wave
from tapestry.runs.model.model import Model
from tapestry.runs.tables.action_batch import DEAD, DONE, FAILED, ActionBatch, ActionLife
from tapestry.words import without_stack

logger = logging.getLogger(__name__)
LONGEST_BACKOFF = timedelta(minutes=10)
ATTEMPTS = 2
"""So often is a wave executed; then its batches are, one by one."""


@dataclass(frozen=True)
class ClaimedBatches:
    """Executes the claimed batches of a run.

    parts
        The statements of the action; () for a function in Python.
    together
        How one statement executes many batches; None: they are executed one by one from now on.
    """

    session: Session
    model: Model
    invocation: Invocation
    targets: DerivedTargets
    life: ActionLife
    rules: Sequence[RuleRead]
    parts: Sequence[ActionStatement]
    together: OneStatement | None

    @property
    def config(self) -> ActionConfig:
        """The keys that its author has written."""
        return config_of(self.model.config.own)

    def in_order(self, until: float) -> BatchesInOrder:
        """Return how the batches are executed; none is begun after an instant."""
        return BatchesInOrder(self.alone, self.wave, until)

    def alone(self, batch: ActionBatch) -> ActionBatch:
        """Execute a batch; return it with its outcome."""
        began = monotonic()
        try:
            self.refuse_loop(batch)
            refuse_gone(self.rules, batch)
            self.statements(batch)
        except Exception as error:
            return self.failed(batch, error, monotonic() - began)
        return batch.became(DONE, now_utc(), monotonic() - began)

    def failed(self, batch: ActionBatch, error: Exception, seconds: float) -> ActionBatch:
        """Return a failed batch: it is tried again later, or it is dead."""
        said, event = without_stack(str(error)), batch.event
        logger.warning("%s: batch %s failed: %s", self.model.name, batch.place, said)
        if isinstance(error, RuleLoop):  # dead without an attempt
            batch = replace(batch, event=replace(event, attempt=event.attempt - 1))
            return batch.became(DEAD, now_utc(), seconds, said)
        if event.attempt >= self.config.attempts:
            return batch.became(DEAD, now_utc(), seconds, said)
        wait = min(self.config.backoff * 2 ** min(event.attempt - 1, 20), LONGEST_BACKOFF)
        again_at = self.invocation.clock.instant + wait
        return batch.became(FAILED, now_utc(), seconds, said, again_at)

    def refuse_loop(self, batch: ActionBatch) -> None:
        """Raise RuleLoop for a batch at the end of too long a chain of commits of actions."""
        if batch.depth > self.config.max_depth:
            raise RuleLoop(
                f"the commit that triggered it is the {batch.depth}th in a chain of commits of"
                " actions, each of which triggered the next",
                hint="let a condition end the chain, or raise max_depth; then replay the batch",
            )

    def statements(self, batch: ActionBatch) -> None:
        """Execute the statements of a batch, each in a session of its own settings."""
        rules, life = self.rules, self.life
        rows = {name: bound_rows(batch, rules, self.config, name) for name in bound_names(rules)}
        name = f"{life.id}:{batch.first_place.replace('/', ':')}"
        said = said_of(batch, self.config, life.idempotency_key(name))
        note = self.note([batch], batch.place)
        if not self.parts:
            call = FunctionCall(self.model, rules, batch, said)
            self.call_function(call, self.landing(f"{name}:1", note))
        again = RecomputeBatch(self.session, self.model, self.invocation, rules, batch)
        for number, part in enumerate(self.parts, start=1):
            how = self.landing(f"{name}:{number}", note)
            of = Recompute.read_mark(part.text)
            statement = with_rows(part, rows, said) if of is None else again.merging(of, rows)
            land(self.session, how, statement)

    def call_function(self, call: FunctionCall, how: Landing) -> None:
        """Call a function in Python, and write what it returns."""
        there = partial(self.targets.refuse_built_anew, self.session)
        call.execute(how, partial(apart, self.session, how.beside), there)

    def note(self, batches: Sequence[ActionBatch], place: str) -> dict[str, Any]:
        """Return the note of a commit of batches, for rules that look at its table."""
        depth = max(one.depth for one in batches) + 1
        t = micros(self.invocation.clock.instant)
        life = self.life
        said = {"action": life.action, "batch": f"{life.id}/{place}", "depth": depth, "t": t}
        return {**said, **self.targets.note}

    def landing(self, name: str, note: Mapping[str, Any]) -> Landing:
        """Return how a statement lands; raise ActionFailed where a table was built anew."""
        self.targets.refuse_built_anew(self.session)
        return Landing(f"tapestry.{self.model.relation}:{name}", note, self.config.timeout)

    def wave(self, batches: Sequence[ActionBatch], whole: bool) -> list[ActionBatch] | None:
        """Execute a wave; return its batches as they ended; None: they are executed one by one now.

        ``whole``: they are all of the wave, and no batch of their keys comes before them.
        """
        began, target = monotonic(), self.target
        try:
            done = whole and self.together is not None and self.tried(self.together, batches)
            if not done:
                self.land(batches, {"closed": True}, closing_statement(target))
            here = landed(self.session, target, str(self.note_of_wave(batches)["batch"]))
        except Exception as error:
            each = (monotonic() - began) / len(batches)
            return [self.failed(one, error, each) for one in batches]
        each = (monotonic() - began) / len(batches)
        return [one.became(DONE, now_utc(), each) for one in batches] if here else None

    @property
    def target(self) -> str:
        """The table that the statement writes."""
        if self.together is not None:
            return self.together.target
        return next(iter(targets_of(self.model)), "")

    def tried(self, together: OneStatement, batches: Sequence[ActionBatch]) -> bool:
        """Execute a wave, again after a failure; return whether it succeeded."""
        name, config = together.bound, self.config
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for one in batches:
                    refuse_gone(self.rules, one)
                if not self.parts:
                    self.call(batches)
                    return True
                rows = {name: rows_of_wave(batches, self.rules, config, name)}
                self.land(batches, {}, with_rows(self.parts[0], rows, {}))
                return True
            except Exception as error:
                logger.warning(
                    "%s: %d batches together failed (%d of %d): %s",
                    self.model.name, len(batches), attempt, ATTEMPTS, error,
                )  # fmt: skip
        return False

    def note_of_wave(self, batches: Sequence[ActionBatch]) -> dict[str, Any]:
        """Return the note of a wave's commit."""
        return self.note(batches, f"{batches[0].m}/w{batches[0].wave}")

    def call(self, batches: Sequence[ActionBatch]) -> None:
        """Call a separable function with the rows of a wave, and write what it returns."""
        first, name = min(batches, key=lambda one: one.release), self.name(batches)
        batch = replace(first, key=None, again=any(one.again for one in batches))
        said = said_of(batch, self.config, self.life.idempotency_key(name))
        call = FunctionCall(self.model, self.rules, batch, said, batches)
        self.call_function(call, self.landing(name, self.note_of_wave(batches)))

    def name(self, batches: Sequence[ActionBatch]) -> str:
        """The name of the transaction of a wave."""
        return f"{self.life.id}:{batches[0].m}:w{batches[0].wave}"

    def land(self, batches: Sequence[ActionBatch], more: dict[str, Any], statement: Sql) -> None:
        """Execute a statement under the transaction of a wave."""
        how = self.landing(self.name(batches), {**self.note_of_wave(batches), **more})
        land(self.session, how, statement)
