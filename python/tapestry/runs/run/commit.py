"""Exactly once: the statements that commit a run, and the proof that the commit is its own.

Semantics, section 4. A creation is one statement that writes the rows and the generation. An append
is one INSERT under Delta's transaction (generation, n), given as write options of that statement:
session settings would hit every other statement of the session, and of the threads that share it.
Delta skips a transaction that has landed without saying so, so the history is asked afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import ConcurrentRun, StateMissing
from tapestry.names import GENERATION_PROPERTY, KIND_PROPERTY, STATE_PROPERTY
from tapestry.quoting import identifier, properties, relation_name
from tapestry.runs.engine.errors_of_delta import already_exists, folder_in, leftover, lost_race
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.tables.state import mark_failed, runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import (
    CLOSED,
    Commit,
    commits_after,
    generation_in,
    landed,
    look,
    metadata,
    transaction,
    unknown_table,
    written_by_others,
)

CREATE = "CREATE TABLE"
REPLACE = "CREATE OR REPLACE TABLE"


@dataclass(frozen=True)
class Landed:
    """The target after run n, its newest version, and the commit of n (None: unknown).

    foreign
        Somebody else has written to it since the run was planned.
    """

    target: Glance
    version: int
    commit: Commit | None
    foreign: bool = False

    @property
    def rows(self) -> int | None:
        """How many rows n wrote."""
        return None if self.commit is None else self.commit.rows


def create_sql(
    model: Model, generation: str, select: str, replace: bool, state_table: str = ""
) -> str:
    """The target with its rows, its generation and where its state is, in one commit."""
    listed = {
        **model.properties,
        GENERATION_PROPERTY: generation,
        KIND_PROPERTY: model.materialized,
    }
    if state_table:
        listed[STATE_PROPERTY] = state_table
    return (
        f"{REPLACE if replace else CREATE} {relation_name(model.relation)} USING delta"
        f" TBLPROPERTIES ({properties(listed)}) {model.options} AS\n{select}"
    )


def append_sql(
    row: StateRow, columns: Sequence[str], select: str, attempt: str = "", instead: bool = False
) -> str:
    """The new rows under the transaction (generation, n), with the run's name in the commit.

    ``instead``: they take the place of all rows that are there, whatever the session says of
    partitions.
    """
    more = {"tau": show(row.since), "t": show(row.after.t)}
    if attempt:
        more["attempt"] = attempt
    said, options = metadata(row.generation, row.n, row.run_id, more), {}
    if instead:
        options["replaceWhere"] = "true"
    under = transaction(row.generation, row.n, said, **options)
    insert = "INSERT OVERWRITE" if instead else "INSERT INTO"
    names = ", ".join(identifier(column) for column in columns)
    return f"{insert} {relation_name(row.model)} {under} ({names})\n{select}"


def close(session: Session, state_table: str, row: StateRow, columns: int) -> None:
    """End run n, whose checks failed, without rows: τ stays where it was (semantics, section 4).

    The state is marked first and the transaction (generation, n) of the target taken after that, so
    that a kill in between leaves a run of which is known that it is to be closed, and an execution
    of n that only slept publishes nothing any more.  Raises ConcurrentRun where such a one was
    faster.
    """
    mark_failed(session, state_table, row)
    said = metadata(row.generation, row.n, row.run_id, {"failed": True})
    under = transaction(row.generation, row.n, said)
    try:
        session.run(_nothing(row.model, columns, under))
    except Exception as error:
        if not lost_race(error):
            raise
    found = landed(commits_after(session, row.model, row.target.version), row.generation, row.n)
    if found is not None and not found.failed:
        mark_failed(session, state_table, row, failed=False)
        raise concurrent(row)


def closing_sql(name: str, columns: int, generation: str, run_id: str) -> str:
    """An empty commit under the last n of a generation, before the table is built again.

    An append of that generation that was planned before would else land in the new table, under a
    transaction that nobody has used there. Now it lands before, conflicts, or is skipped.  The
    empty rows must not come from the table itself: an empty INSERT that reads its own target leaves
    no commit and no transaction (Delta 4.3).
    """
    said = metadata(generation, CLOSED, run_id, {})
    return _nothing(name, columns, transaction(generation, CLOSED, said))


def rewind_sql(row: StateRow, columns: int, forgotten: str) -> str:
    """One commit that forgets the rows for which ``forgotten`` holds and closes the generation
    before the row's.

    It is run 1 of the new generation, under the last transaction of the old one: so it lands once,
    and no append of the old generation lands after it. The table keeps its files, properties and
    constraints.

    What to replace is an option that Delta reads as text: the literal names its offset. REPLACE
    WHERE goes through a filter of Spark's that Delta prints in the session's zone, without one: in
    the hour that comes twice there (01:30 UTC on the last Sunday of October in Berlin) it forgets
    an hour too much.
    """
    more = {"successor": row.generation, "t": show(row.after.t)}
    said = metadata(row.continues, CLOSED, row.run_id, more)
    under = transaction(row.continues, CLOSED, said, replaceWhere=forgotten)
    nothing = f"SELECT {', '.join(['NULL'] * columns)} FROM range(0)"
    return f"INSERT OVERWRITE {relation_name(row.model)} {under} {nothing}"


def name_generation_sql(name: str, generation: str) -> str:
    """Give a table that was rewound the name of its new generation."""
    named = properties({GENERATION_PROPERTY: generation})
    return f"ALTER TABLE {relation_name(name)} SET TBLPROPERTIES ({named})"


def _nothing(name: str, columns: int, under: str) -> str:
    nothing = f"SELECT {', '.join(['NULL'] * columns)} FROM range(0)"
    return f"INSERT INTO {relation_name(name)} {under} {nothing}"


def commit(session: Session, row: StateRow, main: str, state_table: str = "") -> None:
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
            commit(session, row, REPLACE + main.removeprefix(CREATE))
        elif not lost_race(error) and not (row.n == 1 and already_exists(error)):
            raise


def _is_first_run(session: Session, state_table: str, model: str, generation: str) -> bool:
    """Did a creation of this model, which nobody went on from, make a table?"""
    runs = runs_of(session, state_table, generation)
    return {(run.model, run.n) for run in runs} == {(model, 1)}


def confirm(session: Session, row: StateRow, complete_history: bool = True) -> Landed:
    """Find the commit that holds n.

    Raises ConcurrentRun where it is another run's, StateMissing where the target is further than
    the state knows.
    """
    target = look(session, row.model)
    if target is None or target.generation != row.generation:
        raise concurrent(row)
    commits = commits_after(session, row.model, row.target.version)
    found = landed(commits, row.generation, row.n)
    if found is not None and row.n > 1 and found.run_id != row.run_id:
        raise concurrent(row)
    if found is not None and found.failed:
        raise ConcurrentRun(
            f"another execution of run {row.n} of {row.model} failed its checks and closed it",
            hint="run again: the next run covers the same time",
        )
    if found is None and landed(commits, row.generation, CLOSED) is not None:
        raise concurrent(row)  # a refresh or a rewind closed the generation before this run landed
    if found is None and row.n > 1 and complete_history:
        raise StateMissing(
            f"run {row.n} of {row.model} was skipped: its table is ahead of tapestry_state",
            hint="bring the state table back to its newest version (was it restored to an older"
            " one?), or run with --full-refresh",
        )
    newest = commits[0].version if commits else row.target.version
    return Landed(target, newest, found, written_by_others(commits, row.generation))


def concurrent(row: StateRow) -> ConcurrentRun:
    """The error of a run that another run of the same model overtook."""
    return ConcurrentRun(
        f"another run of {row.model} committed first; its rows are there, nothing is lost or twice",
        hint="run again: the next run goes on from there",
    )
