"""Claimed to Checked or Failed: kept tables are written, the new rows are staged and checked.

Nothing is published before every check has passed. A run that is killed in between has published
nothing; its n is executed again, and its staged and rejected rows are written anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from tapestry.errors import TapestryError
from tapestry.runs.checks import checks, rejected, staging
from tapestry.runs.checks.checks import CheckResult, Findings
from tapestry.runs.checks.staging import Staged
from tapestry.runs.checks.verification import VERIFICATION, unverified
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.states import Checked, Claimed, Failed
from tapestry.runs.query.holding import make
from tapestry.runs.sources.kept_commits import keep_times


def check(session: Session, claimed: Claimed) -> Checked | Failed:
    """Execute a run up to its commit.

    Raises ClaimLostError where it fails, and n turns out to be another run's: it is not closed.
    """
    planned = claimed.planned
    keep_times(session, planned.before.commits)
    for statement in planned.before.statements:
        session.run(statement)
    for rows in planned.before.beside:
        rows.write(session, planned.row.identity)
    for view, select in planned.rows.holding.selects.items():
        make(session, view, select)
    crash.point("before_written")
    results = checks.assumptions(session, planned.proof.assumptions)
    if any(result.blocks for result in results):
        claimed.sure()  # the run ends here: is its claim the one that counts?
        return _refused(planned, results)
    if not planned.checks_rows:
        return Checked(planned, Findings(tuple(results)), planned.main)
    return _checked(session, claimed, results)


def _checked(session: Session, claimed: Claimed, results: list[CheckResult]) -> Checked | Failed:
    """Stage and check the new rows; keep those that an expectation drops."""
    planned, attempt = claimed.planned, uuid4().hex
    staged = staging.stage(session, planned.rows, attempt)
    crash.point("staged")
    results += _checks(session, planned, staged)
    if any(result.blocks for result in results):
        claimed.sure()
        staging.keep(session, planned.rows, staged, attempt)
        return _refused(planned, results, staged)
    # Only one execution ever creates a generation, and its commit has no place for a mark.
    mark = "" if planned.row.n == 1 else attempt
    dropping = [r.name for r in results if r.on_violation == "drop" and r.violations]
    count = checks.dropped_rows(session, staged, results)
    whole = planned.rows.whole
    if whole is not None and whole.rejected:
        kept = staging.marked(staged, planned.rows, whole.rejected)
        rejected.reject(session, planned.rows, kept, staged.drops, mark)
    elif dropping:
        rejected.reject(session, planned.rows, staged, dropping, mark)
    crash.point("rejected")
    select = staging.published(staged, planned.rows, dropping)
    found = Findings(tuple(results), count, mark, staged)
    return Checked(planned, found, planned.writing.statement(select, attempt))


def _checks(session: Session, planned: Planned, staged: Staged) -> list[CheckResult]:
    """Return the results of all checks on the staged rows; findings are no exceptions."""
    results = checks.expectations(session, staged, planned.rows.whole)
    verification = planned.proof.verification
    if verification is None:
        return results
    found = verification.verify(session, planned.model, staged.relation)
    if staged.rows is None and any(result.status == checks.ERROR for result in found):
        # Nobody has read the rows before: where they cannot be computed, this says why.
        staging.count_staged(session, staged.relation)
    return results + found


def _refused(
    planned: Planned, results: Sequence[CheckResult], staged: Staged | None = None
) -> Failed:
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
    return Failed(planned, Findings(tuple(results), staged=staged), error)
