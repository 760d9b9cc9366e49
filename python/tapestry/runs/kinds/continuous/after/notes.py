"""Notes on the next run: errors that would stop it, and effects of a changed query."""

from __future__ import annotations

from tapestry.errors import TapestryError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.late.scans import scan_as_left
from tapestry.runs.kinds.continuous.other_columns import other_columns, refuse_changed_columns
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.schema_change import reconcile, refuse_narrower
from tapestry.runs.model.model import Model
from tapestry.runs.query.refuse_read_apart import planned_as_read
from tapestry.runs.query.spark_reads import refuse_other_columns
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Scan


def of_changed(
    session: Session, model: Model, invocation: Invocation, query: Query, row: StateRow
) -> list[str]:
    """Return notes on what a run would do if the query differs from the one that grew the table."""
    config: ContinuousConfig = model.config.own
    rule = config.on_query_change
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


def as_spark_reads(session: Session, model: Model, query: Query, select: str) -> list[str]:
    """Check a first run's query as Spark reads it, without data; raise Refusal if it cannot."""
    refuse_other_columns(session, model, query, select)
    if planned_as_read(session, query) is False:
        return ["Spark plans the query otherwise than it was read: a first run compares their rows"]
    return []


def scans_of_next_run(
    session: Session, query: Query, row: StateRow | None, notes: list[str]
) -> dict[str, Scan]:
    """Return the sources as the run after ``row`` would read them; note those with ended rows."""
    scans: dict[str, Scan] = {}
    for name in query.rewriting.sources:
        scans[name], ended = scan_as_left(session, query.relations, name, row)
        if ended:
            notes.append(f"runs read rows of {name} that were deleted, too, each up to its end")
    return scans
