"""The row of the state that a run claims: of a first run, and of one that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import plain
from tapestry.runs.run.commit import closing_sql
from tapestry.runs.run.standing import Standing
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state import StateRow
from tapestry.runs.tables.target import EMPTY_GENERATION


def first_row(
    model: Model, standing: Standing, t: datetime, pins: Mapping[str, Pin], canonical: str
) -> StateRow:
    """Run 1 of a new generation, up to t."""
    return StateRow(
        model=plain(model.relation),
        generation=uuid4().hex,
        n=1,
        run_id=uuid4().hex,
        tau=None,
        t=t,
        begin=model.config.begin,
        target_id="",
        target_version=standing.version,
        pins=pins,
        last_pins={},
        canonical=canonical,
        sql=model.sql,
    )


def following_row(
    last: StateRow, standing: Standing, t: datetime, pins: Mapping[str, Pin], canonical: str
) -> StateRow:
    """The run after the last one that landed, up to t."""
    assert standing.target is not None  # a row without a target is nobody's
    return replace(
        last,
        n=last.n + 1,
        run_id=uuid4().hex,
        tau=last.t,
        t=t,
        target_id=standing.target.table_id,
        target_version=standing.version,
        pins=pins,
        last_pins=last.pins,
        canonical=canonical,
        last_canonical=last.canonical,
        last_begin=last.begin,
        failed_at=None,
    )


def closing(session: Session, standing: Standing, row: StateRow) -> tuple[str, ...]:
    """What closes the generation that a first run replaces; nothing where there is none."""
    old = None if standing.target is None else standing.target.generation
    if old is None or old == EMPTY_GENERATION:
        return ()
    columns = len(columns_of_table(session, row.model))
    return (closing_sql(row.model, columns, old, row.run_id),)
