"""Rewind: forget every answer after T, exactly, as if the run that crossed T had ended there.

Afterwards the table stands at run 1 of a new generation that ends at T. One commit deletes the
answers after T and closes the generation before it (semantics, section 4): no append of that one
lands any more. The generation goes on from what the run that crossed T had read. A row that turned
up in a later run is found again by the next one: with ts > T it is an ordinary row, with ts <= T it
is late and arrives at the first instant after T. A late row that had arrived by T keeps its
arrival.

Killed before the commit, nothing has happened: kept tables hold rows of a generation that does not
exist. Killed after it, the table still has the name of its old generation; the next run gives it
the new one (``finish``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, timestamp
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.crash import point
from tapestry.runs.protocol.finish_rewind import finish
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state import claim
from tapestry.runs.tables.state_row import StateRow

ANSWERED = identifier(MATCHED_AT)


@dataclass(frozen=True)
class Rewind:
    """The plan of a rewind of one model.

    newest, row
        The newest run that landed, and the run that stands in its place afterwards.
    answers, runs
        How many answers are forgotten, and how many runs ended after T.
    before
        Executed before the commit ``main``: late rows that stay.
    erased
        A SELECT of answers that were deleted from the table, which no run has noted yet.
    attempt
        Which execution of the newest run landed (see ``Standing``).
    warnings
        Why the next run of the model may stop.
    """

    model: Model
    newest: StateRow
    row: StateRow
    answers: int
    runs: int
    main: str
    before: tuple[str, ...] = ()
    erased: str = ""
    attempt: str | None = None
    warnings: tuple[str, ...] = field(default=())


def rewind(session: Session, planned: Rewind, invocation: Invocation) -> None:
    """Carry a rewind out; when this returns, the answers are forgotten for good.

    Raises ConcurrentRun where a run, a refresh or another rewind of the model got ahead.
    """
    row = planned.row
    point("planned")
    claim(session, invocation.state_table, row)
    point("claimed")
    for statement in planned.before:
        session.run(statement)
    stays = f"{ANSWERED} <= {timestamp(row.after.t)}"
    rejected.carry(session, row, planned.newest, planned.attempt, stays)
    beside_target.carry(session, row, planned.newest, planned.erased)
    point("before_written")
    try:
        session.run(planned.main)
    except Exception as error:
        if not lost_race(error):
            raise
    point("committed")
    finish(session, row)
    invocation.forget(row.model)
    point("confirmed")
