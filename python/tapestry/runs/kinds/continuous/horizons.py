"""Finds how far continuous models upstream are complete (semantics, section 3, "A chain").

A model never runs past the models that it reads: then none of their answers arrives late.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tapestry.errors import StateUnreadable
from tapestry.names import GENERATION_PROPERTY, STATE_PROPERTY
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.tables.noted_runs import brought_up
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.target import CLOSED, EMPTY_GENERATION, commits_after, landed


def horizons(
    session: Session, invocation: Invocation, tables: Mapping[str, Pinned]
) -> tuple[dict[str, datetime], tuple[str, ...]]:
    """Return how far each continuous model among ``tables`` is complete, and warnings.

    One whose state cannot be found or read limits nothing: its answers that come late are found as
    late rows.
    """
    limits: dict[str, datetime] = {}
    warnings: list[str] = []
    for name, pinned in tables.items():
        generation = pinned.table.properties.get(GENERATION_PROPERTY, EMPTY_GENERATION)
        if generation == EMPTY_GENERATION:
            continue
        until = invocation.states.complete.get(name)
        why = "is not to be found"
        if until is None:
            try:
                until = _of_state(session, invocation, name, pinned, generation)
            except StateUnreadable as error:
                why = f"is not to be read ({error.where or error.reason})"
        if until is None:
            warnings.append(f"the state of {name} {why}: its answers may come late")
        else:
            limits[name] = until
            if until < invocation.clock.instant and name not in invocation.states.complete:
                warnings += _behind(session, invocation, name, until)
    return limits, tuple(warnings)


def _behind(session: Session, invocation: Invocation, name: str, until: datetime) -> list[str]:
    """Return why a model that is read is behind; nothing where it was skipped and so reported."""
    if name in invocation.switches.skipped:
        return []
    try:
        row = invocation.switches.row(session, name)
    except StateUnreadable:
        row = None  # the model itself stops at that
    if row is None or row.active:
        return [f"{name} has run to {show(until)} only: run it too, or first"]
    return [f"{name} is switched off and has run to {show(until)} only: {row.why}"]


def _of_state(
    session: Session, invocation: Invocation, name: str, pinned: Pinned, generation: str
) -> datetime | None:
    """Return τ of the model after the newest run that the pinned version holds.

    A model that dbt defers to stands in another environment, whose state table it names.
    """
    elsewhere = pinned.table.properties.get(STATE_PROPERTY, "")
    for state_table in filter(None, (invocation.state_table, elsewhere)):
        row = invocation.states.of(session, generation, state_table)
        if row is not None:
            break
    else:
        return None
    if row.target.version > pinned.pin.version and row.n > 1:
        # It was planned after the version was pinned, and so perhaps were runs before it.
        runs = [
            one
            for one in runs_of(session, state_table, generation)
            if one.n == 1 or one.target.version <= pinned.pin.version
        ]
        if not runs:
            return None
        row = runs[-1]
    commits = commits_after(session, name, row.target.version)
    commits = [one for one in commits if one.version <= pinned.pin.version]
    found = brought_up(session, state_table, row, commits)
    row = found.row
    closed = landed(commits, row.generation, CLOSED)
    if closed is not None and closed.successor:
        rewound = invocation.states.of(session, closed.successor, state_table)
        return None if rewound is None else rewound.after.t
    if row.n == 1:
        return row.after.t  # the table's generation stands for its first run
    own = landed(commits, row.generation, row.n)
    there = own is not None and not own.failed and not found.taken and row.failed_at is None
    return row.after.t if there else row.since
