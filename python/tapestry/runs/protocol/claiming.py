"""Planned to Claimed: the row of a run, and the claim of its n before its rows are computed.

The commit of a run that writes nothing before it claims n itself.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.protocol.states import Claimed
from tapestry.runs.protocol.writing import closing_sql
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state import claim
from tapestry.runs.tables.state_row import AS_A_RUN, Position, StateRow
from tapestry.runs.tables.target import EMPTY_GENERATION, commits_after, landed


def first_row(model: Model, standing: Standing, after: Position) -> StateRow:
    """Return run 1 of a new generation."""
    return StateRow(
        RunIdentity(plain(model.relation), uuid4().hex, 1, uuid4().hex),
        model.materialized,
        Pin("", standing.version),
        None,
        after,
        model.sql,
    )


def following_row(model: Model, last: StateRow, standing: Standing, after: Position) -> StateRow:
    """Return the run after the last one that landed."""
    assert standing.target is not None  # a row without a target is nobody's
    return replace(
        last,
        identity=replace(last.identity, n=last.n + 1, run_id=uuid4().hex),
        target=Pin(standing.target.table_id, standing.version),
        before=last.after,
        after=after,
        sql=model.sql,
        failed_at=None,
        written=AS_A_RUN,
    )


def closing(session: Session, standing: Standing, row: StateRow) -> tuple[str, ...]:
    """Return statements that close the generation that a first run replaces, if there is one."""
    old = None if standing.target is None else standing.target.generation
    if old is None or old == EMPTY_GENERATION:
        return ()
    columns = len(columns_of_table(session, row.model))
    return (closing_sql(row.model, columns, old, row.run_id),)


class ClaimLostError(Exception):
    """Another run has claimed the same n: nothing of this one was written."""


def claim_run(session: Session, planned: Planned, invocation: Invocation) -> Claimed:
    """Claim the run's n, or leave that to its commit.

    The rows of a run that writes nothing before its commit are private until then: so the state
    needs its row before that only where the run fails. Raises ClaimLostError.
    """
    row, circumstances = planned.row, planned.circumstances

    def take() -> None:
        won = circumstances.again or claim(session, invocation.state_table, row)
        if not won or (planned.writes_beside and taken_by_commit(session, row)):
            raise ClaimLostError
        invocation.states.claimed(row)
        crash.point("claimed")

    if not planned.claims_by_commit:
        take()
    if not circumstances.warm and row.n > 1 and not circumstances.again:
        before = replace(row.identity, n=row.n - 1)
        rejected.tidy(session, before, circumstances.attempt)
    return Claimed(planned, take if planned.claims_by_commit else _nothing)


def _nothing() -> None:
    """Do nothing: n is claimed already."""


def taken_by_commit(session: Session, row: StateRow) -> bool:
    """Return whether the commit of another run has taken n.

    Read after the claim, and before anything is written under n: a run that claims n by its commit
    reads the claims after that. So at least one of the two knows of the other (`noted_runs`).
    """
    if row.n == 1:
        return False
    commits = commits_after(session, row.model, row.target.version)
    found = landed(commits, row.generation, row.n)
    return found is not None and found.run_id != row.run_id
