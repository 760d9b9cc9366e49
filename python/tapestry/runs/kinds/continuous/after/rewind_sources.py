"""Examines the sources for a rewind: late rows that stay, and errors of the next run."""

from __future__ import annotations

from collections.abc import Mapping

from tapestry.errors import TapestryError
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.late.examine import examine
from tapestry.runs.kinds.continuous.late.grow_side import carry
from tapestry.runs.kinds.continuous.late.side import Side, read_side, side_name
from tapestry.runs.kinds.continuous.late.since_last_run import AskingRun, PinnedSource
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state_row import StateRow


def carried(
    session: Session, relations: Relations, crossing: StateRow, row: StateRow
) -> tuple[str, ...]:
    """Return statements that copy late rows of every source, with the arrivals that they keep."""
    statements: list[str] = []
    for name, read in crossing.after.pins.items():
        column = relations.arrives(name)
        if column is None:
            continue
        table = relations.tables[name].table
        side = Side(
            side_name(row.model, table.name),
            crossing.generation,
            crossing.n + 1,
            "",
            crossing.failed,
        )
        pin = row.after.pins[name]
        found = read_side(session, side, read)
        statements += carry(found, pin, column, row.after.t, row.generation)
    return tuple(statements)


def next_run(
    session: Session,
    model: Model,
    relations: Relations,
    row: StateRow,
    upstream: Mapping[str, Pin],
) -> tuple[str, ...]:
    """Return the errors that would stop the run after the rewind, as far as sources tell now."""
    config: ContinuousConfig = model.config.own
    found: list[str] = []
    for name, pin in row.after.pins.items():
        if name in upstream:
            continue  # it was rewound a moment ago
        try:
            pinned = relations.tables[name]
            source = PinnedSource(pinned.table, relations.arrival(name), pin, pinned.pin)
            run = AskingRun(row.model, row.generation, 2, row.after.t)
            examine(session, source, run, config)
        except TapestryError as error:
            found.append(f"the next run will stop: {error.reason}")
    return tuple(found)
