"""The row of the state that a run claims: of a first run, and of one that goes on."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.protocol.writing import closing_sql
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import Position, StateRow
from tapestry.runs.tables.target import EMPTY_GENERATION


def first_row(model: Model, standing: Standing, after: Position) -> StateRow:
    """Return run 1 of a new generation."""
    return StateRow(
        RunIdentity(plain(model.relation), uuid4().hex, 1, uuid4().hex),
        model.materialized,
        Pin("", standing.version),
        None,
        after,
        model.sql,
    )


def following_row(model: Model, last: StateRow, standing: Standing, after: Position) -> StateRow:
    """Return the run after the last one that landed."""
    assert standing.target is not None  # a row without a target is nobody's
    return replace(
        last,
        identity=replace(last.identity, n=last.n + 1, run_id=uuid4().hex),
        target=Pin(standing.target.table_id, standing.version),
        before=last.after,
        after=after,
        sql=model.sql,
        failed_at=None,
    )


def closing(session: Session, standing: Standing, row: StateRow) -> tuple[str, ...]:
    """Return statements that close the generation that a first run replaces, if there is one."""
    old = None if standing.target is None else standing.target.generation
    if old is None or old == EMPTY_GENERATION:
        return ()
    columns = len(columns_of_table(session, row.model))
    return (closing_sql(row.model, columns, old, row.run_id),)
