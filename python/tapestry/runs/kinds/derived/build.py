"""The run that builds a derived table from its query."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.config import key_among
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claiming import closing, first_row
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.protocol.writing import Creation
from tapestry.runs.query.relations import ALL_STATIC, Relations, read_relations
from tapestry.runs.query.settings import settings_line
from tapestry.runs.tables.state_row import Position
from tapestry.sql import static_answer
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.read_query import ReadQuery, read


@dataclass(frozen=True)
class DerivedText:
    """A model's text over the present tables."""

    relations: Relations
    query: ReadQuery
    canonical: str


def read_text(session: Session, model: Model, invocation: Invocation) -> DerivedText:
    """Read the text of a derived model.

    Raises Refusal for a query whose answer is not the same twice, ConfigurationError for a `key`
    that it does not have.
    """
    zone, pins = invocation.time_zone, invocation.pins
    relations = read_relations(session, model.sql, model, pins, zone, ALL_STATIC)
    query = read(model.sql, relations.catalog)
    refuse_nondeterministic(query.tree, query.catalog)
    key_among(model, query.columns)
    canonical = "\n".join([query.canonical, settings_line(invocation.settings)])
    return DerivedText(relations, query, canonical)


def build_table(
    session: Session, model: Model, invocation: Invocation, standing: Standing, text: DerivedText
) -> Planned:
    """Plan the run that makes the table, or makes it anew where one stands.

    The versions that it is built from say which firings it holds already.
    """
    t, state, relations = invocation.clock.instant, invocation.state_table, text.relations
    pins = {name: one.pin for name, one in relations.tables.items()}
    row = first_row(model, standing, Position(t, pins, text.canonical))
    select = static_answer(model.sql, relations.catalog, t, relations.scans())
    columns, replaces = tuple(text.query.columns), standing.target is not None
    return Planned(
        row,
        NewRows(model, row.identity, select, columns, columns, creates=True),
        Creation(model, row.generation, replaces, state),
        state,
        ready=closing(session, standing, row),
    )
