"""One run of one model, in order: plan, claim, kept tables, check, commit, confirm, tidy up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from tapestry.errors import TapestryError, VerificationFailed
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import KnownTarget
from tapestry.runs.engine.read_volume import ReadVolume
from tapestry.runs.engine.session import Session, for_little, meanwhile
from tapestry.runs.memories.keep import distrust, unread
from tapestry.runs.memories.reasons import UNREADABLE, WRONG
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import release
from tapestry.runs.query.relations import plain
from tapestry.runs.run.commit import concurrent, confirm
from tapestry.runs.run.crash import point
from tapestry.runs.run.log import Entry
from tapestry.runs.run.outcome import Outcome
from tapestry.runs.run.plan import CloseRun, Decided, Kind, Leftover, Nothing, Plan, WriteRows
from tapestry.runs.run.publish import ClaimLostError, Published, give_up, publish
from tapestry.runs.run.settle import is_due, settle, tidy
from tapestry.runs.tables.state import claim
from tapestry.runs.tables.target import look

logger = logging.getLogger(__name__)

LONGEST_REASON = 2_000


def prepare(
    session: Session, kind: Kind, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Decided:
    """What this invocation's run will do; what crashed before it is brought to its end first.

    Raises what planning (``Kind.plan``) and ``execute`` raise.
    """

    def plan() -> Plan:
        return kind.plan(session, model, invocation, full_refresh)

    planned, finished = plan(), ""
    if isinstance(planned, Leftover):
        planned.finish(session, planned.row)
        invocation.forget(model.relation)
        planned = plan()
    if isinstance(planned, CloseRun):
        give_up(session, planned.row, invocation)
        planned = plan()
    elif isinstance(planned, WriteRows) and planned.circumstances.again:
        finished = str(execute(session, kind, planned, invocation))
        planned = plan()
    if isinstance(planned, CloseRun | Leftover):
        raise concurrent(planned.row)
    if isinstance(planned, WriteRows) and planned.circumstances.again:
        raise concurrent(planned.row)
    return replace(planned, told=replace(planned.told, finished=finished))


def execute(session: Session, kind: Kind, planned: Decided, invocation: Invocation) -> Outcome:
    """Carry a plan out; when this returns, its rows and the fact of the run are durable.

    Raises ExpectationFailed or AssumptionWrong where a check failed (nothing is published, τ stays
    where it was), ConcurrentRun where another run of the model got ahead, StateMissing where the
    state is older than the table; errors of the statements themselves pass through.
    """
    if isinstance(planned, Nothing):
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t, finished=planned.told.finished)
    invocation.requests += planned.requests
    try:
        with for_little(session, planned.little):
            return _execute(session, kind, planned, invocation)
    except Exception as error:
        if not planned.remembers or _would_be_again(error):
            raise
        return _without_memories(session, kind, planned, invocation, error)


def _would_be_again(error: Exception) -> bool:
    """Is an error one that a run without memories would meet, too?"""
    return isinstance(error, TapestryError) and not isinstance(error, VerificationFailed)


def _without_memories(
    session: Session, kind: Kind, planned: WriteRows, invocation: Invocation, error: Exception
) -> Outcome:
    """The run once more, which reads its sources alone.

    Where it holds its memories are dropped, at once if the one before had answers that were wrong.
    """
    model = planned.model
    logger.warning("%s is run again without memories: %s", model.name, error)
    invocation.distrusting.add(model.relation)
    again = prepare(session, kind, model, invocation, full_refresh=planned.replaces)
    outcome = execute(session, kind, again, invocation)
    reason = UNREADABLE
    if isinstance(error, VerificationFailed):
        reason, names = WRONG, distrust(session, planned.requests)
        logger.warning("answers from %s were wrong: it was dropped", ", ".join(names))
    invocation.requests[:] = unread(invocation.requests, planned.requests, reason)
    return outcome


def _execute(session: Session, kind: Kind, planned: WriteRows, invocation: Invocation) -> Outcome:
    began, row, circumstances = monotonic(), planned.row, planned.circumstances
    point("planned")
    if planned.traceless and _finds_nothing(session, planned):
        invocation.recall.note_looked(row)
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t, finished=planned.told.finished)
    try:
        done, reading = _claimed_and_published(session, planned, invocation, began)
    except ClaimLostError:
        invocation.forget(row.model)
        if not circumstances.warm:
            raise concurrent(row) from None
        # The memory did not know of a run that another process claimed, and perhaps crashed in.
        again = prepare(session, kind, planned.model, invocation)
        return execute(session, kind, again, invocation)
    if done.error is not None:
        give_up(session, row, invocation, planned.unsure)
        reading.look()
        invocation.log.append(Entry(row.identity, done, monotonic() - began, planned, reading))
        raise concurrent(row) if _overtaken(session, planned) else done.error
    point("committed")
    with meanwhile(session, reading.look, wanted=True):
        landed = confirm(session, row, circumstances.complete_history)
        if not landed.foreign:  # else the next run has to look, and to refuse it
            invocation.recall.note(KnownTarget(landed.target, row, landed.version))
        settle(session, planned, done, landed)
    _complete(invocation, planned)
    seconds = monotonic() - began
    invocation.log.append(Entry(row.identity, done, seconds, planned, reading, landed.commit))
    point("confirmed")
    if is_due(row):
        tidy(session, planned, invocation.state_table)
    window, rows = (row.since, row.after.t, row.n), (landed.rows, done.rejected_rows)
    did = (planned.action, *window, *rows, done.results)
    return Outcome(*did, finished=planned.told.finished)


def _finds_nothing(session: Session, planned: WriteRows) -> bool:
    """Are there no new rows? Where that cannot be told, the run itself will say why."""
    try:
        return not session.rows(f"SELECT 1 FROM (\n{planned.rows.unchecked}\n) LIMIT 1")
    except Exception as error:
        logger.debug("whether there are new rows was not told: %s", error)
        return False


def _claimed_and_published(
    session: Session, planned: WriteRows, invocation: Invocation, began: float
) -> tuple[Published, ReadVolume]:
    """Claim the run's n, and execute the run up to its commit.

    Nobody sees what a run that writes nothing before its commit computes and checks: so the state
    has its row when it commits, but need not before.  Raises ClaimLostError.
    """

    row, circumstances = planned.row, planned.circumstances

    def take() -> bool:
        if not circumstances.again and not claim(session, invocation.state_table, row):
            return False
        invocation.claimed(row)
        point("claimed")
        return True

    with meanwhile(session, take, wanted=planned.claims_beside) as claimed:
        if not planned.claims_beside and not claimed():
            raise ClaimLostError
        if not circumstances.warm and row.n > 1 and not circumstances.again:
            rejected.tidy(session, row.model, row.generation, row.n - 1, circumstances.attempt)
        found = _publish(session, planned, invocation, began, claimed)
        if not claimed():  # a broken assumption ends a run before it has asked
            raise ClaimLostError
        return found


def _publish(
    session: Session,
    planned: WriteRows,
    invocation: Invocation,
    began: float,
    claimed: Callable[[], bool],
) -> tuple[Published, ReadVolume]:
    """``publish``, measured; what goes wrong in it is logged with the run."""
    reading = ReadVolume()
    try:
        with session.can.measured() as reading:
            return publish(session, planned, point, claimed), reading
    except ClaimLostError:
        raise
    except Exception as error:
        reading.look()
        seconds, reason = monotonic() - began, str(error)[:LONGEST_REASON]
        entry = Entry(planned.row.identity, Published(), seconds, planned, reading, reason=reason)
        invocation.log.append(entry)
        _abandon(session, planned, invocation, claimed)
        if _overtaken(session, planned):
            raise concurrent(planned.row) from error
        raise
    finally:
        release(session, planned.rows.holding)


def _overtaken(session: Session, planned: WriteRows) -> bool:
    """Has another first run made the table, and removed the staged rows that both wrote?"""
    if planned.row.n > 1 or planned.replaces:
        return False
    target = look(session, planned.row.model)
    return target is not None and target.generation not in (None, planned.row.generation)


def _abandon(
    session: Session, planned: WriteRows, invocation: Invocation, claimed: Callable[[], bool]
) -> None:
    """Close a run whose statements failed, so that the next one finds what was mended meanwhile.

    Executed again over the old pins and the old query it would fail for ever. Where it cannot be
    closed (the storage is away, or it had landed) it is as after a kill: the next run finds out.
    """
    try:
        if claimed():
            give_up(session, planned.row, invocation, planned.unsure)
    except Exception as error:
        logger.debug("the run that failed was not closed: %s", error)


def _complete(invocation: Invocation, planned: Decided) -> None:
    if planned.t is not None:
        invocation.complete[plain(planned.model.relation)] = planned.t
