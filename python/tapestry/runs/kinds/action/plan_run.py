"""The next run of an action, as it is planned: what is due is found when it is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.perform import BatchRound
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import OwnRun, Told


@dataclass(frozen=True)
class Perform(OwnRun):
    """The next run of an action, which carries itself out.

    anew
        A life of its own begins: waiting batches are dropped.
    at_once
        Batches that are not released yet, or wait for their next attempt, are due, too.
    """

    model: Model
    anew: bool = False
    told: Told = field(default_factory=Told)
    at_once: bool = False

    @property
    def main(self) -> str:
        """The author's text."""
        return self.model.sql

    def carry_out(self, session: Session, invocation: Invocation) -> Outcome:
        """Execute the batches that are due.

        Raises ActionFailed where one of them is dead now, after all others have been executed.
        """
        return BatchRound(session, self.model, invocation, self.at_once).run(self.anew)
