"""Stage, check, publish: how the new rows of a claimed run get into the target, or do not.

Nothing is published before every check has passed. A run that is killed in between has published
nothing; its n is executed again, and its staged and rejected rows are written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from tapestry.errors import TapestryError
from tapestry.runs.checks import checks, rejected, staging
from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.checks.staging import Staged
from tapestry.runs.checks.verification import VERIFICATION, unverified
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.query.holding import make
from tapestry.runs.run.commit import close, commit
from tapestry.runs.run.plan import WriteRows
from tapestry.runs.sources.kept_commits import keep_times
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.state_row import StateRow

Point = Callable[[str], None]
"""Where tests kill a run."""


@dataclass(frozen=True)
class Published:
    """What was done between the claim and the commit of a run.

    ``attempt`` is the execution of n, where it has rejected rows to be told apart by; ``error``
    why nothing was published.
    """

    results: tuple[CheckResult, ...] = ()
    rejected_rows: int = 0
    attempt: str = ""
    staged: Staged | None = None
    error: TapestryError | None = None


class ClaimLostError(Exception):
    """Another run has claimed the same n: nothing of this one was written."""


def publish(
    session: Session, planned: WriteRows, point: Point, claimed: Callable[[], bool]
) -> Published:
    """Execute a run up to its commit; ``Published.error`` where its checks fail.

    ``claimed`` waits for the claim of its n, which a run that keeps its new rows in memory does
    without until something is to be written.  Raises ClaimLostError where that is another run's.
    """
    keep_times(session, planned.before.commits)
    for statement in planned.before.statements:
        session.run(statement)
    for rows in planned.before.beside:
        rows.write(session, planned.row.identity)
    for view, select in planned.rows.holding.selects.items():
        make(session, view, select)
    point("before_written")
    results = checks.assumptions(session, planned.proof.assumptions)
    if any(result.blocks for result in results):
        return _refused(planned, results)
    if not planned.checks_rows:
        _commit(session, planned, _unchecked(session, planned, point, claimed), point)
        return Published(tuple(results))
    attempt = uuid4().hex
    staged = staging.stage(session, planned.rows, attempt)
    point("staged")
    results += check(session, planned, staged)
    if not claimed():
        raise ClaimLostError
    if any(result.blocks for result in results):
        staging.keep(session, planned.rows, staged, attempt)
        return _refused(planned, results, staged)
    dropping = [r.name for r in results if r.on_violation == "drop" and r.violations]
    count = checks.dropped_rows(session, staged, results)
    if dropping:
        rejected.reject(session, planned.rows, staged, dropping, _mark(planned, attempt))
    point("rejected")
    select = staging.published(staged, planned.rows, dropping)
    _commit(session, planned, planned.writing.statement(select, attempt), point)
    return Published(tuple(results), count, _mark(planned, attempt), staged)


def check(session: Session, planned: WriteRows, staged: Staged) -> list[CheckResult]:
    """All checks on the staged rows: what is found is a result, not an exception."""
    results = checks.expectations(session, staged)
    verification = planned.proof.verification
    if verification is None:
        return results
    found = verification.verify(session, planned.model, staged.relation)
    if staged.rows is None and any(result.status == checks.ERROR for result in found):
        # Nobody has read the rows before: where they cannot be computed, this says why.
        staging.counted(session, staged.relation)
    return results + found


def give_up(session: Session, row: StateRow, invocation: Invocation, unsure: bool = False) -> None:
    """Close a run without rows, so that the next one covers its window with other means.

    A creation has no n that anybody goes on from. ``unsure``: the log can no longer say whether the
    run has landed. It stays as it is: closing it could forget rows that are there.
    """
    invocation.forget(row.model)
    if row.n == 1 or unsure:
        return
    close(session, invocation.state_table, row, len(columns_of_table(session, row.model)))
    rejected.tidy(session, row.model, row.generation, row.n, "")
    beside_target.tidy(session, row, row.n - 1)


def _unchecked(
    session: Session, planned: WriteRows, point: Point, claimed: Callable[[], bool]
) -> str:
    """What commits rows that nobody checks; they are computed while their n is being claimed."""
    if not planned.claims_beside:
        return planned.main
    view = planned.rows.holding.rows
    make(session, view, planned.rows.unchecked)
    staging.counted(session, view)
    point("staged")
    if not claimed():
        raise ClaimLostError
    return planned.writing.statement(f"SELECT * FROM {view}")


def _mark(planned: WriteRows, attempt: str) -> str:
    """Only one execution ever creates a generation, and its commit has no place for a mark."""
    return "" if planned.row.n == 1 else attempt


def _commit(session: Session, planned: WriteRows, statement: str, point: Point) -> None:
    for text in planned.ready:
        session.run(text)
    point("ready")
    commit(session, planned.row, statement, planned.state_table)


def _refused(
    planned: WriteRows, results: Sequence[CheckResult], staged: Staged | None = None
) -> Published:
    look = "" if staged is None else f"look at the new rows in {staged.name}, "
    hint = (
        f"{look}correct the data, the query or the expectation, and run again:"
        " the next run covers the same time"
    )
    wrong = [result for result in results if result.blocks]
    if staged is not None and all(result.kind in VERIFICATION for result in wrong):
        error: TapestryError = unverified(planned.model, wrong, staged.name)
    else:
        error = checks.failure(planned.model, results, hint)
    return Published(tuple(results), staged=staged, error=error)
