"""The kinds of models, by the name of their materialization."""

from __future__ import annotations

from collections.abc import Mapping

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.plan_run import Continuous
from tapestry.runs.model.model import Model
from tapestry.runs.run import run
from tapestry.runs.run.plan import Decided, Kind
from tapestry.runs.run.run import Outcome

KINDS: Mapping[str, Kind] = {"continuous": Continuous()}


def kind_of(model: Model) -> Kind:
    """How a model's runs are planned."""
    return KINDS[model.materialized]


def prepare(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Decided:
    """What this invocation's run of a model will do (``run.prepare``), by its kind."""
    return run.prepare(session, kind_of(model), model, invocation, full_refresh)


def execute(session: Session, planned: Decided, invocation: Invocation) -> Outcome:
    """Carry a plan out (``run.execute``)."""
    return run.execute(session, kind_of(planned.model), planned, invocation)
