"""The kind `rule`: rows bound by the commits of a table that fire it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tapestry.errors import NotRunYet, Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, for_little
from tapestry.runs.kinds.rule.baseline import begins_at_baseline
from tapestry.runs.kinds.rule.config import KEYS
from tapestry.runs.kinds.rule.explain import explain_rule
from tapestry.runs.kinds.rule.plan_run import NextRuleRun
from tapestry.runs.kinds.rule.triggers import read_rule
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Plan
from tapestry.runs.protocol.standing import stand
from tapestry.runs.tables.bound_rows import COMMIT_TIME, COMMIT_VERSION, FIRING, ROW, N
from tapestry.sql import Catalog


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
        model = begins_at_baseline(session, model, invocation)
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
            model = begins_at_baseline(session, model, invocation)
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
