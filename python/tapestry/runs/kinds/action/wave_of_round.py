"""Executes a wave of batches: in one statement and commit, or else one by one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Protocol

from tapestry.errors import ConfigurationError
from tapestry.instants import now_utc
from tapestry.quoting import Sql
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig
from tapestry.runs.kinds.action.in_order import Alone, BatchesInOrder
from tapestry.runs.kinds.action.landing import Landing, land
from tapestry.runs.kinds.action.python_call import FunctionCall, targets_of
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.statement import ActionStatement, said_of, with_rows
from tapestry.runs.kinds.action.together import NotTogetherError, OneStatement
from tapestry.runs.kinds.action.waves import (
    closing_statement,
    in_waves,
    landed,
    rows_of_wave,
    together_now,
)
from tapestry.runs.model.model import Model
from tapestry.runs.tables.action_batch import DONE, ActionBatch, ActionLife

logger = logging.getLogger(__name__)
ATTEMPTS = 2
"""So often is a wave executed; then its batches are, one by one."""


class RunOfAction(Protocol):
    """A run of an action, as its waves need it."""

    @property
    def session(self) -> Session:
        """The session in which it is executed."""

    @property
    def model(self) -> Model:
        """The action."""

    @property
    def config(self) -> ActionConfig:
        """The keys that its author has written."""

    def failed(self, batch: ActionBatch, error: Exception, seconds: float) -> ActionBatch:
        """Return a failed batch as it is now."""

    def note(self, life: ActionLife, batches: Sequence[ActionBatch], place: str) -> dict[str, Any]:
        """Return the note of a commit of batches."""

    def landing(self, name: str, note: Mapping[str, Any]) -> Landing:
        """Return how a statement of the action lands."""

    def refuse_gone(self, rules: Sequence[RuleRead], batch: ActionBatch) -> None:
        """Raise where the rows of a batch were removed with the former table of a rule."""

    def call_function(self, call: FunctionCall, how: Landing) -> None:
        """Call a function in Python, and write what it returns."""


@dataclass(frozen=True)
class WaveOfRound:
    """Executes the waves of a run.

    together
        How one statement executes many batches; None: they are executed one by one from now on.
    """

    run: RunOfAction
    life: ActionLife
    rules: Sequence[RuleRead]
    parts: Sequence[ActionStatement]
    together: OneStatement | None

    def execute(self, batches: Sequence[ActionBatch], whole: bool) -> list[ActionBatch] | None:
        """Execute a wave; return its batches as they ended; None: they are executed one by one now.

        ``whole``: they are all of the wave, and no batch of their keys comes before them.
        """
        began, target = monotonic(), self.target
        try:
            done = whole and self.together is not None and self.tried(self.together, batches)
            if not done:
                self.land(batches, {"closed": True}, closing_statement(target))
            here = landed(self.run.session, target, str(self.note(batches)["batch"]))
        except Exception as error:
            each = (monotonic() - began) / len(batches)
            return [self.run.failed(one, error, each) for one in batches]
        each = (monotonic() - began) / len(batches)
        return [one.became(DONE, now_utc(), each) for one in batches] if here else None

    def in_order(self, alone: Alone, until: float) -> BatchesInOrder:
        """Return how the batches of the run are executed; ``alone`` executes one of them."""
        return BatchesInOrder(alone, self.execute, until)

    def in_waves(self, batches: Sequence[ActionBatch]) -> list[ActionBatch]:
        """Return the batches of a round that is to be claimed, with their waves."""
        if self.together is None:
            return list(batches)
        return in_waves(batches, self.run.config.max_depth)

    @property
    def target(self) -> str:
        """The table that the statement writes."""
        if self.together is not None:
            return self.together.target
        return next(iter(targets_of(self.run.model)), "")

    def tried(self, together: OneStatement, batches: Sequence[ActionBatch]) -> bool:
        """Execute a wave, again after a failure; return whether it succeeded."""
        name, config = together.bound, self.run.config
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for one in batches:
                    self.run.refuse_gone(self.rules, one)
                if not self.parts:
                    self.call(batches)
                    return True
                rows = {name: rows_of_wave(batches, self.rules, config, name)}
                self.land(batches, {}, with_rows(self.parts[0], rows, {}))
                return True
            except Exception as error:
                logger.warning(
                    "%s: %d batches together failed (%d of %d): %s",
                    self.run.model.name, len(batches), attempt, ATTEMPTS, error,
                )  # fmt: skip
        return False

    def note(self, batches: Sequence[ActionBatch]) -> dict[str, object]:
        """Return the note of a wave's commit."""
        return self.run.note(self.life, batches, f"{batches[0].m}/w{batches[0].wave}")

    def call(self, batches: Sequence[ActionBatch]) -> None:
        """Call a separable function with the rows of a wave, and write what it returns."""
        first, name = min(batches, key=lambda one: one.release), self.name(batches)
        batch = replace(first, key=None, again=any(one.again for one in batches))
        said = said_of(batch, self.run.config, self.life.idempotency_key(name))
        call = FunctionCall(self.run.model, self.rules, batch, said, batches)
        self.run.call_function(call, self.run.landing(name, self.note(batches)))

    def name(self, batches: Sequence[ActionBatch]) -> str:
        """The name of the transaction of a wave."""
        return f"{self.life.id}:{batches[0].m}:w{batches[0].wave}"

    def land(self, batches: Sequence[ActionBatch], more: dict[str, object], statement: Sql) -> None:
        """Execute a statement under the transaction of a wave."""
        how = self.run.landing(self.name(batches), {**self.note(batches), **more})
        land(self.run.session, how, statement)


def together_or_not(
    run: RunOfAction, rules: Sequence[RuleRead], parts: Sequence[ActionStatement]
) -> OneStatement | None:
    """Return how one statement executes many batches of an action; None: it does not.

    Raises ConfigurationError where the author demands it, and the result would differ.
    """
    config = run.config
    if config.together == "false" or config.unique:
        return None
    try:
        return together_now(run.session, run.model, rules, parts)
    except NotTogetherError as reason:
        if config.together == "auto":
            return None
        raise ConfigurationError(
            "together: true, but many batches in one statement could give another result than one"
            f" by one: {reason}",
            where=run.model.file,
            hint="leave it at auto, which executes the batches of this action one by one",
        ) from None
