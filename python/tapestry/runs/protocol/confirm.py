"""Committed to Confirmed: the commit is the run's own; then its leftovers are removed."""

from __future__ import annotations

import logging

from tapestry.errors import ConcurrentRun, StateMissing
from tapestry.quoting import relation_name
from tapestry.runs.checks import rejected, staging
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import KnownTarget
from tapestry.runs.engine.errors_of_delta import loudness_of_tidying
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol.commit import concurrent
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.states import Committed, Confirmed
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state import compact
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import CLOSED, commits_after, landed, look, written_by_others

logger = logging.getLogger(__name__)

COMPACT_EVERY = 50
"""So many runs leave so many small files: then they are merged."""
KEEP_STATES = 1_000


def confirm(session: Session, committed: Committed, invocation: Invocation) -> Confirmed:
    """Find the commit that holds n, and remember the target as it is now.

    Raises ConcurrentRun where it is another run's, StateMissing where the target is further than
    the state knows.
    """
    planned, row = committed.planned, committed.planned.row
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
    if found is None and row.n > 1 and not planned.unsure:
        raise StateMissing(
            f"run {row.n} of {row.model} was skipped: its table is ahead of tapestry_state",
            hint="bring the state table back to its newest version (was it restored to an older"
            " one?), or run with --full-refresh",
        )
    newest = commits[0].version if commits else row.target.version
    foreign = written_by_others(commits, row.generation)
    if not foreign:  # else the next run has to look, and to refuse it
        invocation.recall.note(KnownTarget(target, row, newest))
    if planned.claims_by_commit:
        # After it is noted: who records it may find that it is to be forgotten.
        invocation.states.landed(row)
    return Confirmed(planned, committed.found, found)


def settle(session: Session, confirmed: Confirmed) -> None:
    """Remove the staged rows, and rejected ones that do not belong to what has landed."""
    planned, found, commit = confirmed.planned, confirmed.found, confirmed.commit
    row, mark = planned.row, None if commit is None else commit.attempt
    whole = planned.rows.whole
    anew = row.n if whole is not None and whole.rejected is not None else 0
    again = planned.circumstances.again or planned.replaces
    if again or anew or mark not in (None, found.attempt):
        rejected.tidy(session, row.identity, mark, anew, made=planned.replaces)
    if planned.replaces or any(rows.tidies for rows in planned.before.beside):
        beside_target.tidy(session, row, row.n, made=planned.replaces)
    try:
        if found.staged is not None:
            staging.drop(session, found.staged)
    except Exception as error:
        logger.warning("the staged rows were not removed, the next run will: %s", error)


def is_due(row: StateRow) -> bool:
    """Return whether this run merges small files."""
    return row.n % COMPACT_EVERY == 0


def tidy(session: Session, planned: Planned, state_table: str) -> None:
    """Merge small files; a failure harms nothing."""
    try:
        session.run(f"OPTIMIZE {relation_name(planned.model.relation)}")
        if exists(session, name := rejected.rejected_name(planned.model.relation)):
            session.run(f"OPTIMIZE {relation_name(name)}")
        compact(session, state_table, planned.row, KEEP_STATES)
        for table in {one.table for one in planned.before.commits}:
            session.run(f"OPTIMIZE {relation_name(table)}")
    except Exception as error:
        logger.log(loudness_of_tidying(error), "small files were not merged this time: %s", error)
