"""The kind `continuous`: all that was ever an answer, each once, with its first instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tapestry.errors import Refusal
from tapestry.names import MATCHED_AT
from tapestry.quoting import Sql
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.continuous.after.preview import preview
from tapestry.runs.kinds.continuous.config import KEYS, ContinuousConfig
from tapestry.runs.kinds.continuous.plan_run import Decision
from tapestry.runs.kinds.continuous.query import rewritten
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Plan
from tapestry.runs.protocol.standing import stand
from tapestry.runs.query.relations import read_relations
from tapestry.sql import Catalog, Step, rewrite


class Continuous:
    """Plans a run over the window since the last one; answers are appended, never taken back."""

    own_columns: ClassVar[Mapping[str, Sql]] = {MATCHED_AT: Sql("TIMESTAMP")}
    arrival: ClassVar[str] = MATCHED_AT
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises one of the errors of ``tapestry.errors``."""
        standing = stand(session, model, invocation, full_refresh)
        return Decision(session, model, invocation, standing).plan()

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise for the model's text, without reading data."""
        config: ContinuousConfig = model.config.own
        rewrite(model.sql, catalog, assume=config.assume, begin=config.begin)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return the steps of the rewriting, and what the next run would read."""
        config: ContinuousConfig = model.config.own
        steps: list[Step] = []
        try:
            relations = read_relations(
                session, model.sql, model, invocation.pins, invocation.time_zone
            )
            begin = config.begin
            rewriting = rewritten(model.sql, relations.catalog, model, invocation, begin, steps)
            steps = list(rewriting.trace)
            looked_at = preview(session, model, invocation, stored)
        except Refusal as refusal:
            return Explained(tuple(steps), refusal)
        return Explained(tuple(steps), None, looked_at)

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Check the table against the definition, over what its newest run read."""
        return audit(session, model, invocation, level, turn_number)
