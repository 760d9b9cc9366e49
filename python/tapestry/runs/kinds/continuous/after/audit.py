"""Checks a model's table after the fact, outside of any run: ``tapestry verify``.

It is compared with the definition over the versions of the sources that its newest run read, late
rows arriving when they did. Nothing is written.
"""

from __future__ import annotations

from dataclasses import replace

from tapestry.errors import NotRunYet, TargetChanged
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.audit_rows import asked
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.known.published_rows import published_up_to
from tapestry.runs.kinds.continuous.query import read_query
from tapestry.runs.kinds.continuous.verify import results_of
from tapestry.runs.kinds.continuous.window.question import incomparable, not_comparable
from tapestry.runs.kinds.continuous.window.sources_of_run import as_read_by
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.query.settings import refuse_grown_otherwise
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.verification.audit import Audit, PublishedHistory
from tapestry.verification.check import Result
from tapestry.verification.definition import Definition
from tapestry.verification.events import opening


def audit(
    session: Session, model: Model, invocation: Invocation, level: str, turn_number: int = 0
) -> Audited:
    """Check the table of a model against its query, as of its newest run.

    ``level`` is sample or full; ``turn_number`` says which part of the history a sample looks at.
    Raises NotRunYet for a model that has not run, and the errors of a run before it begins, except
    those for the writes of others: an audit is to find what they did to the table.
    """
    standing, changed = _standing(session, model, invocation)
    row = standing.row
    if row is None or standing.target is None:
        raise NotRunYet(
            f"{model.name} has not run yet: there is nothing to verify",
            where=model.file,
            hint=f"dbt run --select {model.name}",
        )
    if standing.crashed or standing.closing:
        row = row.undone
    config: ContinuousConfig = model.config.own
    known = begins(row)
    refuse_grown_otherwise(model, row.after.canonical, invocation.settings)
    pins = AsRead(invocation.pins, row.after.pins)
    # sql: the query that a run of ours put into the state
    query = read_query(session, model, invocation, row.after.canonical, known.begin, pins)
    query, scans = as_read_by(session, model, invocation, query, row)
    columns = query.rewriting.values

    def ask() -> tuple[Result, Result]:
        if column := incomparable(query):
            raise ValueError(not_comparable(column))  # becomes a result, as any error does
        definition = Definition.read(row.after.canonical, query.relations.catalog, scans)
        low = known.began or opening(definition, session.rows, row.after.t)
        opened = known.begin is not None and known.begin != config.begin
        relation = published_up_to(session, row, columns)
        published = PublishedHistory(relation, known.begin or low, row.after.t, opened)
        return asked(Audit(definition, published, session.rows), model, level, low, turn_number)

    return Audited(row.after.t, row.n, results_of(ask, level, "fail", columns), changed)


def _standing(
    session: Session, model: Model, invocation: Invocation
) -> tuple[Standing, TargetChanged | None]:
    try:
        return stand(session, model, invocation, False), None
    except TargetChanged as error:
        accepting = replace(model, config=replace(model.config, on_target_change="accept"))
        return stand(session, accepting, invocation, False), error
