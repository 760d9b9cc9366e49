"""Checked to Committed, exactly once; and the other end of a run: its n is closed without rows."""

from __future__ import annotations

from tapestry.errors import ConcurrentRun, StateMissing
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.errors_of_delta import (
    already_exists,
    folder_in,
    leftover,
    lost_race,
    not_found,
)
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.claiming import taken_by_commit
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.states import Checked, Committed
from tapestry.runs.protocol.writing import (
    CREATE,
    REPLACE,
    Creation,
    failed_sql,
    name_generation_sql,
)
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state import mark_failed, runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import (
    BY_BATCH,
    CLOSED,
    commits_after,
    generation_in,
    landed,
    look,
    unknown_table,
)


def commit(session: Session, checked: Checked) -> Committed:
    """Close the generation before, if there is one, and publish the rows."""
    planned = checked.planned
    for text in planned.ready:
        session.run(text)
    crash.point("ready")
    if planned.replaces and planned.writes_beside:
        _refuse_made_anew(session, planned.row)
    goes_on = planned.row.before is None and planned.action != Creation.action
    if goes_on:
        _refuse_moved(session, planned.row)
    publish(session, planned.row, checked.statement, planned.state_table)
    if goes_on:
        _name(session, planned)
    return Committed(planned, checked.found)


def _refuse_made_anew(session: Session, row: StateRow) -> None:
    """Raise ConcurrentRun where another generation was made since this one was planned.

    It has removed the rows beside the table that this one has written by now.
    """
    for one in commits_after(session, row.model, row.target.version):
        first = one.n == 1 and one.kind != BY_BATCH
        made = one.successor or (one.generation if first else "")
        if made and made != row.generation:
            raise concurrent(row)


def _refuse_moved(session: Session, row: StateRow) -> bool:
    """Return whether the run has landed in an existing table.

    Raises ConcurrentRun where others have written to it below that since the version that the run
    has looked at: its rows are no longer those that the table lacks.
    """
    commits = commits_after(session, row.model, row.target.version)
    ours = landed(commits, row.generation, row.n)
    below = [one for one in commits if ours is None or one.version < ours.version]
    if any(not one.harmless and one.run_id != row.run_id for one in below):
        raise concurrent(row)
    return ours is not None and ours.run_id == row.run_id


def _name(session: Session, planned: Planned) -> None:
    """Give the table the name of its generation, without which the next run does not know it."""
    row = planned.row
    if not _refuse_moved(session, row):
        raise concurrent(row)
    named = name_generation_sql(row.model, row.generation, row.kind, planned.state_table)
    try:
        session.run(named)
    except Exception as error:
        if not lost_race(error):
            raise  # else ``confirm`` sees whose id the table has


def publish(session: Session, row: StateRow, main: str, state_table: str = "") -> None:
    """Execute the statement that commits n; a race lost here is found out by ``confirm``.

    A creation needs the state table. It raises TargetChanged where a table lies in its folder that
    no creation of this model has left there.
    """
    try:
        session.run(main)
    except Exception as error:
        folder = folder_in(error) if leftover(error) else ""
        if row.n == 1 and folder and main.startswith(CREATE):
            # A creation was killed between its commit and the catalog's entry: nobody's table.
            found = generation_in(session, folder)
            if found is not None and not _is_first_run(session, state_table, row.model, found):
                raise unknown_table(row.model, folder) from error
            publish(session, row, REPLACE + main.removeprefix(CREATE))
        elif not lost_race(error) and not (row.n == 1 and already_exists(error)):
            raise


def _is_first_run(session: Session, state_table: str, model: str, generation: str) -> bool:
    """Return whether a creation of this model, from which no run went on, made a table."""
    runs = runs_of(session, state_table, generation)
    return {(run.model, run.n) for run in runs} == {(model, 1)}


def give_up(session: Session, row: StateRow, invocation: Invocation, unsure: bool = False) -> None:
    """Close a run without rows, so that the next one covers its window with other means.

    A creation has no n that anybody goes on from. ``unsure``: the log can no longer say whether the
    run has landed. It stays as it is: closing it could forget rows that are there.
    """
    invocation.forget(row.model)
    if row.n == 1 or unsure:
        return
    close(session, invocation.state_table, row, len(columns_of_table(session, row.model)))
    rejected.tidy(session, row.identity, "")
    beside_target.tidy(session, row, row.n - 1)


def close(session: Session, state_table: str, row: StateRow, columns: int) -> None:
    """End run n, whose checks failed, without rows: τ stays where it was (semantics, section 4).

    The state is marked first and the transaction (generation, n) of the target taken after that, so
    that a kill in between leaves a run of which is known that it is to be closed, and an execution
    of n that only slept publishes nothing any more.  Raises ConcurrentRun where such a one was
    faster, StateMissing where n was taken before all that the table's log still tells.
    """
    mark_failed(session, state_table, row)
    raced = False
    try:
        session.run(failed_sql(row, columns))
    except Exception as error:
        if not lost_race(error):
            raise
        raced = True
    commits = commits_after(session, row.model, row.target.version)
    found = landed(commits, row.generation, row.n)
    if found is None and landed(commits, row.generation, CLOSED) is not None:
        raise concurrent(row)  # the tables beside it belong to another generation by now
    if found is None and not raced:
        # Delta has skipped it: the rows of n are there, and would come once more after it.
        mark_failed(session, state_table, row, failed=False)
        raise StateMissing(
            f"run {row.n} of {row.model} may have landed: the log of its table was cleaned up and"
            " no longer tells",
            hint="run with --full-refresh; and more often than delta.logRetentionDuration",
        )
    if found is not None and not found.failed:
        mark_failed(session, state_table, row, failed=False)
        raise concurrent(row)


def concurrent(row: StateRow) -> ConcurrentRun:
    """Return the error of a run that another run of the same model overtook."""
    return ConcurrentRun(
        f"another run of {row.model} committed first; its rows are there, nothing is lost or twice",
        hint="run again: the next run goes on from there",
    )


def overtaken(session: Session, planned: Planned, error: Exception) -> bool:
    """Return whether the run failed as another one landed, and removed the shared staged rows.

    Of those that claim n first only first runs come so far.
    """
    row = planned.row
    if planned.claims_by_commit:
        return taken_by_commit(session, row)
    if row.n > 1 or row.continues:
        return False
    if planned.replaces:
        commits = commits_after(session, row.model, row.target.version)
        others = any(not one.harmless and one.run_id != row.run_id for one in commits)
        return others and not_found(error)
    target = look(session, row.model)
    return target is not None and target.generation not in (None, row.generation)
