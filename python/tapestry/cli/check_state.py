"""Checks whether the state of every model can be read."""

from __future__ import annotations

from collections.abc import Iterator

from tapestry.cli.checks import OK, WRONG, Diagnosis, trouble
from tapestry.errors import StateUnreadable
from tapestry.names import STATE_TABLE
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.state import read_states, readable
from tapestry.words import counted

SHOWN = 5


def check_state(session: Session, schema: str) -> Iterator[Diagnosis]:
    """One finding for each row that no run has written, up to a few; one where all is well."""
    table = f"{schema}.{STATE_TABLE}"
    try:
        states = read_states(session, table)
    except StateUnreadable as error:
        yield trouble("state", error)
        return
    if states is None:
        yield Diagnosis("state", OK, "no model has run yet")
        return
    odd = [row for row in states.values() if isinstance(row, OddRow)]
    for row in odd[:SHOWN]:
        try:
            readable(row)
        except StateUnreadable as error:
            yield Diagnosis("state", WRONG, f"{error.reason} ({error.where})", error.hint)
    if len(odd) > SHOWN:
        yield Diagnosis("state", WRONG, f"and {len(odd) - SHOWN} rows more", f"look at {table}")
    if not odd:
        yield Diagnosis("state", OK, f"{counted(len(states), 'generation')} in {table}")
