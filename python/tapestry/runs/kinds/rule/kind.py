"""The kind `rule`: rows bound by the commits of a table that fire it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tapestry.errors import NotRunYet, Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, for_little
from tapestry.runs.kinds.rule.config import KEYS, config_of
from tapestry.runs.kinds.rule.explain import explain_rule
from tapestry.runs.kinds.rule.plan_run import NextRuleRun
from tapestry.runs.kinds.rule.triggers import read_rule
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Plan
from tapestry.runs.protocol.standing import stand
from tapestry.runs.query.relations import in_session
from tapestry.runs.sources.difference import FEED, feed_reaches
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.tables.bound_rows import COMMIT_TIME, COMMIT_VERSION, FIRING, ROW, N
from tapestry.runs.tables.target import look
from tapestry.sql import Catalog

_NOW = "now"


class Rule:
    """Plans a run over the commits since the last one; their firings are appended."""

    own_columns: ClassVar[Mapping[str, Sql]] = {
        N: Sql("BIGINT"),
        FIRING: Sql("BIGINT"),
        COMMIT_VERSION: Sql("BIGINT"),
        COMMIT_TIME: Sql("TIMESTAMP"),
        ROW: Sql("BIGINT"),
    }
    arrival: ClassVar[str] = COMMIT_TIME
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises one of the errors of ``tapestry.errors``."""
        model = _begins_at_baseline(session, model, invocation)
        rule = read_rule(session, model, invocation)
        standing = stand(session, model, invocation, full_refresh)
        with for_little(session, rule.relations.little):
            return NextRuleRun(session, model, invocation, standing, rule).plan()

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Refuse nothing: a rule is read over the table that triggers it."""

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return the queries over all commits of a window."""
        try:
            model = _begins_at_baseline(session, model, invocation)
            rule = read_rule(session, model, invocation)
        except Refusal as refusal:
            return Explained((), refusal)
        return explain_rule(session, model, invocation, rule)

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Check nothing: the firings of a commit are not computed again."""
        row = stand(session, model, invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet", hint="run it: dbt run")
        return Audited(row.after.t, row.n, [])


def _begins_at_baseline(session: Session, model: Model, invocation: Invocation) -> Model:
    """Return the rule with a place to begin, where its author names none.

    A rule that has a table goes on from there, or begins anew with later commits.
    """
    own = config_of(model.config.own)
    if own.begin:
        return model
    begin = _NOW
    if model.fed and look(session, model.relation) is None:
        begin = _baseline(session, model, invocation)
    return replace(model, config=replace(model.config, own=replace(own, begin=begin)))


def _baseline(session: Session, model: Model, invocation: Invocation) -> str:
    name = in_session(triggers_of(model)[0])
    found: list[Pin] = []
    for derived in model.fed:
        target = look(session, derived)
        if target is None or target.generation is None:
            continue
        row = invocation.states.of(session, target.generation)
        pin = None if row is None else row.after.pins.get(name)
        if pin is not None:
            found.append(pin)
    table = invocation.pins.of(session, name)
    if not found or not isinstance(table, Pinned):
        return _NOW
    least = min(pin.version for pin in found)
    if any(pin.table_id != table.pin.table_id for pin in found) or least >= table.pin.version:
        return _NOW
    by_feed = table.table.properties.get(FEED, "").lower() == "true"
    if by_feed and not feed_reaches(session, table.table, least + 1, table.pin.version):
        return _NOW  # its actions say then that the tables have to be built again
    return str(least + 1)
