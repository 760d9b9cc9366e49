"""Explains the steps of the rewriting and the next run, without running it."""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.preview import preview
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.query import rewritten
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.query.relations import read_relations
from tapestry.sql import Step


def explain(session: Session, model: Model, invocation: Invocation, stored: bool) -> Explained:
    """Rewrite the query as a run does, and look at what the run would read."""
    config: ContinuousConfig = model.config.own
    steps: list[Step] = []
    try:
        relations = read_relations(session, model.sql, model, invocation.pins, invocation.time_zone)
        begin = config.begin
        rewriting = rewritten(model.sql, relations.catalog, model, invocation, begin, steps)
        steps = list(rewriting.trace)
        looked_at = preview(session, model, invocation, stored)
    except Refusal as refusal:
        return Explained(tuple(steps), refusal)
    return Explained(tuple(steps), None, looked_at)
