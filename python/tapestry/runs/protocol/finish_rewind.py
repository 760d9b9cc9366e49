"""The first and last steps of a rewind; a run that finds a killed one takes its last step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tapestry.errors import StateMissing, WindowError
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.commit import concurrent
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.protocol.writing import name_generation_sql
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import CLOSED, commits_after, landed, look


def finish(session: Session, row: StateRow) -> None:
    """Give the rewound table the name of its generation, and drop rows that no longer count.

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
    rejected.tidy(session, row.identity, "", made=True)
    beside_target.tidy(session, row, row.n, made=True)


def _name(session: Session, row: StateRow) -> None:
    """Name the generation; raise ConcurrentRun where another process gave the table another one.

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


def standing_to_rewind(session: Session, model: Model, invocation: Invocation) -> Standing:
    """Return the present standing of a model; an unfinished rewind is completed before.

    Raises StateMissing where no run has made the table.
    """
    invocation.forget(model.relation)
    standing = stand(session, model, invocation, False)
    if standing.unnamed and standing.row is not None:
        finish(session, standing.row)
        invocation.forget(model.relation)
        standing = stand(session, model, invocation, False)
    if standing.row is None:
        what = "has not run yet" if standing.target is None else "is being built anew"
        raise StateMissing(
            f"{model.name} {what}: there is nothing to rewind",
            where=model.file,
            hint=f"dbt run --select {model.name}",
        )
    return standing


def too_early(model: Model, to: datetime, runs: Sequence[StateRow]) -> WindowError:
    """Return the error of a rewind to before all runs that are known."""
    oldest = f"the oldest run it knows went to {show(runs[0].after.t)}" if runs else "none is left"
    return WindowError(
        f"the state of {model.name} no longer reaches back to {show(to)}: {oldest}",
        where=model.file,
        hint=f"TAPESTRY_AS_OF='{show(to)}Z' dbt run --full-refresh --select {model.name}"
        " builds it up to there",
    )
