"""A continuous model's own part of the state: where instants of interest, and time, begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.runs.engine.odd_rows import Fields, Odd
from tapestry.runs.tables.state_row import Position, StateRow


@dataclass(frozen=True)
class Begins:
    """The instants that the kind `continuous` keeps in the state.

    begin
        The first instant of interest that is in force: the configured one, or where the current
        query began (``on_query_change: continue``).
    began
        Where time begins: the earliest arrival in any source, as the generation's first verified
        run found it (later rows arrive later, late rows too); None: not looked for yet.
    """

    begin: datetime | None
    began: datetime | None = None

    @property
    def own(self) -> dict[str, int]:
        """The values in the form that `begins` reads: instants in microseconds."""
        return {name: micros(value) for name, value in vars(self).items() if value is not None}


def begins(row: StateRow) -> Begins:
    """Read the instants from the row of a continuous model; raise StateUnreadable for others."""
    return _read(row, row.after)


def time_begins(row: StateRow, began: datetime | None) -> StateRow:
    """Return the row with the begin of time, for its run and the run before."""
    after, before = (
        None if position is None else _with(row, position, began)
        for position in (row.after, row.before)
    )
    assert after is not None
    return replace(row, after=after, before=before)


def _with(row: StateRow, position: Position, began: datetime | None) -> Position:
    return replace(position, own=replace(_read(row, position), began=began).own)


def _read(row: StateRow, position: Position) -> Begins:
    fields = Fields(position.own)
    try:
        return Begins(fields.optional_instant("begin"), fields.optional_instant("began"))
    except Odd as error:
        raise StateUnreadable(
            f"the state of {row.model} cannot be read: own: {error}",
            where=f"run {row.n} of generation {row.generation}",
            hint="run with --full-refresh",
        ) from None
