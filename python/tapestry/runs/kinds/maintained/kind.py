"""The kind `maintained`: the present answer, kept at the cost of what changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from tapestry.errors import NotRunYet, Refusal
from tapestry.quoting import Sql, relation_name
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, for_little
from tapestry.runs.kinds.maintained.another_table import stand_or_replace
from tapestry.runs.kinds.maintained.bring_to_state import adopting, rewinding
from tapestry.runs.kinds.maintained.config import KEYS
from tapestry.runs.kinds.maintained.explain import explain
from tapestry.runs.kinds.maintained.how_kept import refuse
from tapestry.runs.kinds.maintained.plan_run import NextRun
from tapestry.runs.kinds.maintained.query import read_query
from tapestry.runs.kinds.maintained.verify import compare_bags, turn_of
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Plan, Planned
from tapestry.runs.protocol.standing import stand
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.sql import Catalog


class Maintained:
    """Plans a run that replaces the rows that change, or the whole answer for a reason."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises one of the errors of ``tapestry.errors``."""
        query = read_query(session, model, invocation)
        standing, asked = stand_or_replace(session, model, invocation, full_refresh)
        with for_little(session, query.relations.little):
            return NextRun(session, model, invocation, standing, query, asked).plan()

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise for the model's text, without reading data."""
        refuse(model.sql, catalog)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return the query, its keys, and the SQL that would keep it."""
        try:
            query = read_query(session, model, invocation)
        except Refusal as refusal:
            return Explained((), refusal)
        return explain(invocation, query)

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Compare the table with the query over the sources as its newest run read them."""
        row = stand(session, model, invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet", hint="run it: dbt run")
        pins = AsRead(invocation.pins, row.after.pins)
        query = read_query(session, model, invocation, row.after.canonical, pins)
        bucket = turn_of(query, turn_number, model.config.verify_share) if level == "sample" else ""
        answer = query.declared.taken(query.answer(row.after.t))
        sides = (answer, f"SELECT * FROM {relation_name(model.relation)}")
        results = compare_bags(session, model, query, sides, level, bucket)
        return Audited(row.after.t, row.n, results)

    def adopting(self, session: Session, model: Model, invocation: Invocation) -> Planned:
        """Plan the run that makes the existing table the model's own."""
        return adopting(session, model, invocation)

    def rewinding(
        self, session: Session, model: Model, invocation: Invocation, to: datetime
    ) -> Planned | None:
        """Plan the run that restores the table after the last run up to an instant."""
        return rewinding(session, model, invocation, to)
