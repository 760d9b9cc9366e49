"""A query that changed since the last run, as a preview tells of it."""

from __future__ import annotations

from tapestry.errors import TapestryError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.other_columns import other_columns, refuse_changed_columns
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.schema_change import reconcile, refuse_narrower
from tapestry.runs.model.model import Model
from tapestry.runs.tables.state_row import StateRow


def notes_of_changed(
    session: Session, model: Model, invocation: Invocation, query: Query, row: StateRow
) -> list[str]:
    """Say what a run would make of a query that is not the one that the table was grown with."""
    rule, config = model.config.on_query_change, model.config
    notes = [f"the query changed since the last run (on_query_change: {rule})"]
    if rule == "refresh":
        return notes
    found = other_columns(row.after.canonical, query)
    if found is not None:
        said = found.told or "another order of the columns"
        notes = [f"{said} since the last run (on_schema_change: {config.on_schema_change})"]
    elif rule == "fail":
        return [f"{notes[0]}: the next run would stop"]
    try:
        if found is not None:
            refuse_changed_columns(model, found, row, query)
        refuse_narrower(session, model, invocation, query, row.generation)
        reconcile(session, model, invocation, query, row, changed=True)
    except TapestryError as error:
        notes.append(f"the next run would stop: {error.reason}")
    return notes
