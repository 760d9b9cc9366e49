"""The kind `derived`: built from its query where there is no table, else left to its actions.

Each later run compares the table with the query, for what its actions have done.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tapestry.errors import NotRunYet, QueryChanged, Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.checks import PASS, CheckResult, Findings
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.build import build_table, read_text
from tapestry.runs.kinds.derived.check import TableCheck, drifted
from tapestry.runs.kinds.derived.config import KEYS
from tapestry.runs.kinds.derived.written_by_others import of_anybody, written_by_others
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.log import Entry
from tapestry.runs.protocol.plan import Nothing, Plan, Told
from tapestry.runs.protocol.standing import stand
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Catalog
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.read_query import read

REBUILD = "rebuild"
"""The value of `on_verify_failure` with which a table that has drifted is built again."""


class Derived:
    """Plans the run that builds the table; every other one compares it."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Decide; writes nothing. Raises one of the errors of ``tapestry.errors``."""
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
            if others := written_by_others(session, model, standing.row):
                told.append(others)
            found = look_at_table(session, model, invocation, standing.row)
            if found is not None and found.status != PASS:
                told.append(f"{found.name}: {found.details.get('message', '')}")
            if found is None or not found.blocks:
                return Nothing(model, invocation.clock.instant, Told(tuple(told)))
            standing = stand(session, model, invocation, refresh=True)
        planned = build_table(session, model, invocation, standing, text)
        return replace(planned, told=Told(tuple(told)))

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise of the model's text, which reads no data."""
        query = read(model.sql, catalog)
        refuse_nondeterministic(query.tree, catalog)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """The query that it is built from."""
        try:
            read_text(session, model, invocation)
        except Refusal as refusal:
            return Explained((), refusal)
        return Explained((), strategy="built once, then written by actions")

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Compare the table with its query, for what its actions have done."""
        row = stand(session, of_anybody(model), invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet", hint="run it: dbt run")
        found = TableCheck(session, model, invocation, row, level, turn_number).result()
        return Audited(invocation.clock.instant, row.n, [found])


def look_at_table(
    session: Session, model: Model, invocation: Invocation, row: StateRow
) -> CheckResult | None:
    """Compare a table with its query, and log what was found; None: its author wants none.

    Raises DerivedDrift where it differs, and that is to stop the run. A result that blocks is one
    of a table that is to be built again.
    """
    if model.config.verify == "off":
        return None
    turn = random.randrange(10**6)
    found = TableCheck(session, model, invocation, row, model.config.verify, turn).result()
    invocation.log.append(Entry(row.identity, Findings((found,)), found.seconds))
    if found.blocks and model.config.on_verify_failure != REBUILD:
        raise drifted(model, found.details)
    return found
