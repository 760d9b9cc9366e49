"""The kind `derived`: built from its query where there is no table, else left to its actions.

Each later run compares the table with the query, for the firings its actions have executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tapestry.errors import NotRunYet, QueryChanged, Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.checks import PASS
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.build import build_table, read_text
from tapestry.runs.kinds.derived.check import TableCheck
from tapestry.runs.kinds.derived.config import KEYS
from tapestry.runs.kinds.derived.look_at_table import (
    all_read,
    built_beside,
    compared,
    look_at_table,
    of_anybody,
    rules_of_writers,
    written_by_others,
)
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Nothing, Plan, Told
from tapestry.runs.protocol.rule_gaps import gap_above
from tapestry.runs.protocol.standing import stand
from tapestry.sql import Catalog
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.read_query import read


class Derived:
    """Plans the run that builds the table; every other one compares it."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises one of the errors of ``tapestry.errors``."""
        text = read_text(session, model, invocation)
        standing = stand(session, of_anybody(model), invocation, full_refresh)
        told: list[str] = []
        if standing.row is not None:
            if standing.row.after.canonical != text.canonical:
                raise QueryChanged(
                    f"{model.name} has another query than the one that its table was built from",
                    where=model.file,
                    hint="build it anew: --full-refresh; it holds what its actions have not done"
                    " yet then, and they leave that out",
                )
            state, row = invocation.state_table, standing.row
            rules = rules_of_writers(session, invocation, model)
            depends = all_read(session, model, state, row, text, rules)
            if depends is not None and invocation.recall.quiet.known(depends):
                return Nothing(model, invocation.clock.instant)
            if others := written_by_others(session, model, row):
                told.append(others)
            again = built_beside(session, model, row)
            again = again or str(gap_above(session, invocation, rules, row) or "")
            if again:
                told.append(f"{again}: {model.name} is built again")
            else:
                found = look_at_table(session, model, invocation, row)
                if found is not None and found.status != PASS:
                    told.append(f"{found.name}: {found.details.get('message', '')}")
                if depends is not None and not told and compared(found):
                    invocation.recall.quiet.note(depends, None)
                if found is None or not found.blocks:
                    return Nothing(model, invocation.clock.instant, Told(tuple(told)))
            standing = stand(session, model, invocation, refresh=True)
        planned = build_table(session, model, invocation, standing, text)
        return replace(planned, told=Told(tuple(told)))

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise for the model's text, without reading data."""
        query = read(model.sql, catalog)
        refuse_nondeterministic(query.tree, catalog)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return the query that it is built from."""
        try:
            read_text(session, model, invocation)
        except Refusal as refusal:
            return Explained((), refusal)
        return Explained((), strategy="built once, then written by actions")

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Compare the table with its query, for the firings its actions have executed."""
        row = stand(session, of_anybody(model), invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet", hint="run it: dbt run")
        found = TableCheck(session, model, invocation, row, level, turn_number).result()
        return Audited(invocation.clock.instant, row.n, [found])
