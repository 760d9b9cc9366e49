"""The last step of a rewind: a run that finds a rewind killed before it takes it, too."""

from __future__ import annotations

from tapestry.runs.checks import rejected
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol.commit import concurrent
from tapestry.runs.protocol.writing import name_generation_sql
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import CLOSED, commits_after, landed, look


def finish(session: Session, row: StateRow) -> None:
    """Give the rewound table the name of its generation, and drop what no longer exists.

    Raises ConcurrentRun where the rewind to ``row`` is not what closed the generation before.
    """
    commits = commits_after(session, row.model, row.target.version)
    closed = landed(commits, row.continues, CLOSED)
    target = look(session, row.model)
    ours = target is not None and target.generation in (row.continues, row.generation)
    if closed is None or closed.successor != row.generation or not ours:
        raise concurrent(row)
    assert target is not None
    if target.generation != row.generation:
        _name(session, row)
    rejected.tidy(session, row.model, row.generation, row.n, "")
    beside_target.tidy(session, row, row.n)


def _name(session: Session, row: StateRow) -> None:
    """Name the generation; raises ConcurrentRun where another process gave the table another one.

    Two that finish one rewind at once both change the table's properties: Delta lets one of them.
    """
    try:
        session.run(name_generation_sql(row.model, row.generation))
    except Exception as error:
        if not lost_race(error):
            raise
        named = look(session, row.model)
        if named is None or named.generation != row.generation:
            raise concurrent(row) from error
