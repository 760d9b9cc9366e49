"""The kind `derived`: built from its query where there is no table, else left to its actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tapestry.errors import NotRunYet, QueryChanged, Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.config import KEYS
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claimed_rows import closing, first_row
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import Nothing, Plan, Planned
from tapestry.runs.protocol.standing import stand
from tapestry.runs.protocol.writing import Creation
from tapestry.runs.query.relations import ALL_STATIC, read_relations
from tapestry.runs.query.settings import settings_line
from tapestry.runs.tables.state_row import Position
from tapestry.sql import Catalog, static_answer
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.read_query import read


class Derived:
    """Plans the run that builds the table; every other one does nothing."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KEYS

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Decide; writes nothing. Raises one of the errors of ``tapestry.errors``."""
        zone, t = invocation.time_zone, invocation.clock.instant
        relations = read_relations(session, model.sql, model, invocation.pins, zone, ALL_STATIC)
        query = read(model.sql, relations.catalog)
        refuse_nondeterministic(query.tree, query.catalog)
        canonical = "\n".join([query.canonical, settings_line(invocation.settings)])
        standing = stand(session, model, invocation, full_refresh)
        if standing.row is not None:
            if standing.row.after.canonical != canonical:
                raise QueryChanged(
                    f"{model.name} has another query than the one that its table was built from",
                    where=model.file,
                    hint="build it anew: --full-refresh; it holds what its actions have not done"
                    " yet then, and they leave that out",
                )
            return Nothing(model, t)
        pins = {name: one.pin for name, one in relations.tables.items()}
        row = first_row(model, standing, Position(t, pins, canonical))
        select = static_answer(model.sql, relations.catalog, t, relations.scans())
        columns = tuple(query.columns)
        state, replaces = invocation.state_table, standing.target is not None
        return Planned(
            row,
            NewRows(model, row.identity, select, columns, columns, creates=True),
            Creation(model, row.generation, replaces, state),
            state,
            ready=closing(session, standing, row),
        )

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise of the model's text, which reads no data."""
        query = read(model.sql, catalog)
        refuse_nondeterministic(query.tree, catalog)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """The query that it is built from."""
        try:
            zone = invocation.time_zone
            relations = read_relations(session, model.sql, model, invocation.pins, zone, ALL_STATIC)
            self.refuse(model, relations.catalog)
        except Refusal as refusal:
            return Explained((), refusal)
        return Explained((), strategy="built once, then written by actions")

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Check nothing: the rows are those that the actions have left."""
        row = stand(session, model, invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet", hint="run it: dbt run")
        return Audited(row.after.t, row.n, [])
