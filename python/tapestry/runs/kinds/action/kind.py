"""The kind `action`: the batches of firings that are due, each executed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tapestry.errors import ConfigurationError, NotRunYet
from tapestry.quoting import Sql
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import KEYS, config_of
from tapestry.runs.kinds.action.explain import explain_action
from tapestry.runs.kinds.action.perform import BatchRound
from tapestry.runs.kinds.action.python_call import parts_of, targets_of
from tapestry.runs.kinds.action.statement import names_said
from tapestry.runs.kinds.action.statement_target import refuse_other_statements
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import OwnRun, Plan, Told
from tapestry.sql import Catalog


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


class Action:
    """Plans a run that carries itself out: its statements write tables of the author's."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises ConfigurationError for an invalid action."""
        config = config_of(model.config.own)
        if config.unique and config.unique_on:
            raise ConfigurationError(
                "unique and unique_on say two things: one batch of all, and one for each value",
                where=model.file,
                hint="keep one of them",
            )
        triggers_of(model)
        parts = parts_of(model)
        refuse_other_statements([one.whole for one in parts], bool(config.writes), model.file)
        if parts and config.merge_on:
            raise ConfigurationError(
                "merge_on is about rows that a function in Python returns",
                where=model.file,
                hint="write a MERGE into the action, or write the action in Python",
            )
        if config.merge_on and not config.writes:
            raise ConfigurationError(
                "merge_on names columns of a table, and nothing says which table",
                where=model.file,
                hint="name it: writes='…'",
            )
        targets_of(model)
        known = {"idempotency_key", "release", "attempt"}
        known |= {f"key.{name.lower()}" for name in config.unique_on}
        if odd := [name for name in names_said(model.sql) if parts and name not in known]:
            raise ConfigurationError(
                f"batch('{odd[0]}') is not an attribute of a batch",
                where=model.file,
                hint=f"there is {', '.join(sorted(known))}",
            )
        return Perform(model, full_refresh)

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Refuse nothing: an action is read with its rules."""

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return how its batches are made and executed."""
        return explain_action(session, model, invocation)

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Raise NotRunYet: an action has no table of its own to be checked."""
        raise NotRunYet(
            f"{model.name} is an action: what it writes are tables of others",
            hint="verify the table that it writes",
        )
