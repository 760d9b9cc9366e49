"""The state of a continuous model alone: where instants of interest begin, and time itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.runs.engine.odd_rows import Fields, Odd
from tapestry.runs.tables.state_row import Position, StateRow


@dataclass(frozen=True)
class Begins:
    """The kind `continuous` keeps these of its own in the state.

    begin
        The first instant of interest that is in force: the configured one, or where the current
        query began (``on_query_change: continue``).
    began
        Where time begins: the earliest arrival in any source, as the generation's first verified
        run found it (what comes later arrives later, late rows too); None: not looked for yet.
    """

    begin: datetime | None
    began: datetime | None = None

    @property
    def own(self) -> dict[str, int]:
        """As `begins` reads it: instants in microseconds."""
        return {name: micros(value) for name, value in vars(self).items() if value is not None}


def begins(row: StateRow) -> Begins:
    """Read them from the row of a continuous model; raises StateUnreadable for other values."""
    return _read(row, row.after)


def time_begins(row: StateRow, began: datetime | None) -> StateRow:
    """The row with the begin of time: it is that of the run before, too."""
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
