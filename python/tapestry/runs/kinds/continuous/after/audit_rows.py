"""Checks any rows against a query, whoever wrote them; the comparisons of each audit level."""

from __future__ import annotations

from datetime import datetime

from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.verify import results_of
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import read_relations
from tapestry.runs.sources.pins import Pins
from tapestry.verification.audit import Audit, PublishedHistory
from tapestry.verification.check import Result, Sample
from tapestry.verification.definition import Definition
from tapestry.verification.events import opening
from tapestry.verification.turns import turn, turns_of

ROWS, INSTANTS = 200, 2
"""So many published rows a sample asks one by one, so many instants by chance it looks at."""


def audit_rows(
    session: Session, rows: str, model: Model, t: datetime, level: str, zone: str = "UTC"
) -> list[CheckResult]:
    """Check any relation with the select list and ``_matched_at`` against ``model.sql`` up to t.

    No state is read: the sources are taken as they are now, and rows arrived at their ts.
    """
    relations = read_relations(session, model.sql, model, Pins(), zone)
    config: ContinuousConfig = model.config.own
    definition = Definition.read(model.sql, relations.catalog, relations.scans())

    def ask() -> tuple[Result, Result]:
        low = opening(definition, session.rows, t)
        published = PublishedHistory(rows, config.begin or low, t)
        return asked(Audit(definition, published, session.rows), model, level, low, 0)

    return results_of(ask, level, "fail", definition.columns)


def asked(
    compared: Audit, model: Model, level: str, low: datetime, turn_number: int
) -> tuple[Result, Result]:
    """Compare as this level of audit demands; ``low`` is where history begins."""
    if level == "full":
        return compared.full()
    turns, t = turns_of(model.config.verify_share), compared.published.t
    ranges = turn(turn_number, turns, low, None, t)
    return compared.sample(Sample(ranges, str(turn_number), rows=ROWS, at_random=INSTANTS))
