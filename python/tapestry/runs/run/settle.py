"""What is done once a run has landed: what it left is removed, small files are merged."""

from __future__ import annotations

import logging

from tapestry.quoting import relation_name
from tapestry.runs.checks import rejected, staging
from tapestry.runs.engine.errors_of_delta import loudness_of_tidying
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Session
from tapestry.runs.run.commit import Landed
from tapestry.runs.run.plan import WriteRows
from tapestry.runs.run.publish import Published
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state import compact
from tapestry.runs.tables.state_row import StateRow

logger = logging.getLogger(__name__)

COMPACT_EVERY = 50
"""So many runs leave so many small files: then they are merged."""
KEEP_STATES = 1_000


def settle(session: Session, planned: WriteRows, done: Published, landed: Landed) -> None:
    """Remove the staged rows, and rejected ones that do not belong to what has landed."""
    row = planned.row
    mark = None if landed.commit is None else landed.commit.attempt
    if planned.circumstances.again or planned.replaces or mark not in (None, done.attempt):
        rejected.tidy(session, row.model, row.generation, row.n, mark)
    if planned.replaces or any(rows.tidies for rows in planned.before.beside):
        beside_target.tidy(session, row, row.n)
    try:
        if done.staged is not None:
            staging.drop(session, done.staged)
    except Exception as error:
        logger.warning("the staged rows were not removed, the next run will: %s", error)


def is_due(row: StateRow) -> bool:
    """Is it this run that merges small files?"""
    return row.n % COMPACT_EVERY == 0


def tidy(session: Session, planned: WriteRows, state_table: str) -> None:
    """Merge small files; whatever goes wrong here has harmed nothing."""
    try:
        session.run(f"OPTIMIZE {relation_name(planned.model.relation)}")
        if exists(session, name := rejected.rejected_name(planned.model.relation)):
            session.run(f"OPTIMIZE {relation_name(name)}")
        compact(session, state_table, planned.row, KEEP_STATES)
        for table in {one.table for one in planned.before.commits}:
            session.run(f"OPTIMIZE {relation_name(table)}")
    except Exception as error:
        logger.log(loudness_of_tidying(error), "small files were not merged this time: %s", error)
