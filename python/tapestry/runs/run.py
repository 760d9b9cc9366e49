"""One run of one model, in order: plan, claim, side tables, check, commit, confirm, tidy up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic

from tapestry.errors import ConcurrentRun
from tapestry.quoting import relation_name
from tapestry.runs import rejected, staging
from tapestry.runs.checks import ERROR, WARN, CheckResult, sentences
from tapestry.runs.commit import Landed, concurrent, confirm
from tapestry.runs.crash import point
from tapestry.runs.errors_of_delta import loudness_of_tidying
from tapestry.runs.holding import release
from tapestry.runs.instants import show
from tapestry.runs.invocation import Invocation
from tapestry.runs.log import Entry
from tapestry.runs.memory import Known
from tapestry.runs.model import Model
from tapestry.runs.plan import Plan, plan
from tapestry.runs.publish import ClaimLostError, Published, give_up, publish
from tapestry.runs.reading import Reading, measuring
from tapestry.runs.relations import plain
from tapestry.runs.rewind import finish
from tapestry.runs.session import Session, for_little, meanwhile
from tapestry.runs.state import StateRow, claim, compact
from tapestry.runs.target import look
from tapestry.words import counted

logger = logging.getLogger(__name__)

COMPACT_EVERY = 50
"""So many runs leave so many small files: then they are merged."""
KEEP_STATES = 1_000
LONGEST_REASON = 2_000


@dataclass(frozen=True)
class Outcome:
    """What a run did; ``rows`` is None where the log does not say.

    ``finished`` tells what a run did that had crashed and was brought to its end first.
    """

    action: str
    tau: datetime | None
    t: datetime | None
    n: int | None = None
    rows: int | None = None
    rejected_rows: int = 0
    results: tuple[CheckResult, ...] = ()
    finished: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each check that the new rows break and that lets them pass."""
        return sentences(self.results)

    def __str__(self) -> str:
        first = f"{self.finished} by a run that had been stopped; " if self.finished else ""
        return first + self._what()

    def _what(self) -> str:
        if self.action == "nothing":
            return "nothing new"
        window = f"({show(self.tau)}, {show(self.t)}]"
        rows = "" if self.rows is None else counted(self.rows, "row") + " "
        text = f"{rows}in {window}"
        if self.rejected_rows:
            text += f", {self.rejected_rows} rejected"
        warned = sum(r.status in (WARN, ERROR) and r.on_violation == "warn" for r in self.results)
        return f"{text}, {warned} warned" if warned else text


def prepare(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Plan:
    """The plan of this invocation's run; what crashed before it is brought to its end first.

    Raises what ``plan`` and ``execute`` raise.
    """
    planned = plan(session, model, invocation, full_refresh)
    if planned.rewound is not None:
        finish(session, planned.rewound)
        invocation.forget(model.relation)
        planned = plan(session, model, invocation, full_refresh)
    if planned.again:
        finished = ""
        if planned.discard:
            give_up(session, planned, invocation)
        else:
            finished = str(execute(session, planned, invocation))
        planned = replace(plan(session, model, invocation, full_refresh), finished=finished)
        if planned.again:
            raise concurrent_of(planned)
    return planned


def execute(session: Session, planned: Plan, invocation: Invocation) -> Outcome:
    """Carry a plan out; when this returns, its rows and the fact of the run are durable.

    Raises ExpectationFailed or AssumptionWrong where a check failed (nothing is published, τ stays
    where it was), ConcurrentRun where another run of the model got ahead, StateMissing where the
    state is older than the table; errors of the statements themselves pass through.
    """
    if planned.row is None:
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t, finished=planned.finished)
    with for_little(session, planned.little):
        return _execute(session, planned, planned.row, invocation)


def _execute(session: Session, planned: Plan, row: StateRow, invocation: Invocation) -> Outcome:
    began = monotonic()
    point("planned")
    try:
        done, reading = _claimed_and_published(session, planned, row, invocation, began)
    except ClaimLostError:
        invocation.forget(row.model)
        if not planned.warm:
            raise concurrent(row) from None
        # The memory did not know of a run that another process claimed, and perhaps crashed in.
        return execute(session, prepare(session, planned.model, invocation), invocation)
    if done.error is not None:
        give_up(session, planned, invocation)
        reading.look()
        invocation.log.append(Entry(planned, done, None, monotonic() - began, reading))
        raise concurrent(row) if _overtaken(session, planned) else done.error
    point("committed")
    with meanwhile(session, reading.look, wanted=True):
        landed = confirm(session, row, planned.complete_history)
        invocation.memory.note(Known(landed.target, row, landed.version))
        _settle(session, planned, done, landed)
    _complete(invocation, planned)
    invocation.log.append(Entry(planned, done, landed.commit, monotonic() - began, reading))
    point("confirmed")
    if row.n % COMPACT_EVERY == 0:
        _tidy(session, planned, invocation)
    did = (planned.action, row.tau, row.t, row.n, landed.rows, done.rejected_rows, done.results)
    return Outcome(*did, finished=planned.finished)


def _claimed_and_published(
    session: Session, planned: Plan, row: StateRow, invocation: Invocation, began: float
) -> tuple[Published, Reading]:
    """Claim the run's n, and execute the run up to its commit.

    Nobody sees what a run that writes nothing before its commit computes and checks: so the state
    has its row when it commits, but need not before.  Raises ClaimLostError.
    """

    def take() -> bool:
        if not planned.again and not claim(session, invocation.state_table, row):
            return False
        invocation.claimed(row)
        point("claimed")
        return True

    unseen = planned.warm and bool(planned.holding.rows) and not planned.before
    with meanwhile(session, take, wanted=unseen) as claimed:
        if not unseen and not claimed():
            raise ClaimLostError
        if not planned.warm and row.n > 1 and not planned.again:
            rejected.tidy(session, row.model, row.generation, row.n - 1, planned.attempt)
        found = _publish(session, planned, invocation, began, claimed)
        if not claimed():  # a broken assumption ends a run before it has asked
            raise ClaimLostError
        return found


def _publish(
    session: Session,
    planned: Plan,
    invocation: Invocation,
    began: float,
    claimed: Callable[[], bool],
) -> tuple[Published, Reading]:
    """``publish``, measured; what goes wrong in it is logged with the run."""
    reading = Reading()
    try:
        with measuring(session) as reading:
            return publish(session, planned, point, claimed), reading
    except ClaimLostError:
        raise
    except Exception as error:
        reading.look()
        seconds, reason = monotonic() - began, str(error)[:LONGEST_REASON]
        invocation.log.append(Entry(planned, Published(), None, seconds, reading, reason))
        _abandon(session, planned, invocation, claimed)
        if _overtaken(session, planned):
            raise concurrent_of(planned) from error
        raise
    finally:
        release(session, planned.holding)


def _overtaken(session: Session, planned: Plan) -> bool:
    """Has another first run made the table, and removed the staged rows that both wrote?"""
    assert planned.row is not None
    if planned.row.n > 1 or planned.replaces:
        return False
    target = look(session, planned.row.model)
    return target is not None and target.generation not in (None, planned.row.generation)


def _abandon(
    session: Session, planned: Plan, invocation: Invocation, claimed: Callable[[], bool]
) -> None:
    """Close a run whose statements failed, so that the next one finds what was mended meanwhile.

    Executed again over the old pins and the old query it would fail for ever. Where it cannot be
    closed (the storage is away, or it had landed) it is as after a kill: the next run finds out.
    """
    try:
        if claimed():
            give_up(session, planned, invocation)
    except Exception as error:
        logger.debug("the run that failed was not closed: %s", error)


def _settle(session: Session, planned: Plan, done: Published, landed: Landed) -> None:
    """Remove the staged rows, and rejected ones that do not belong to what has landed."""
    row = planned.row
    assert row is not None
    mark = None if landed.commit is None else landed.commit.attempt
    if planned.again or planned.replaces or mark not in (None, done.attempt):
        rejected.tidy(session, row.model, row.generation, row.n, mark)
    try:
        if done.staged is not None:
            staging.drop(session, done.staged)
    except Exception as error:
        logger.warning("the staged rows were not removed, the next run will: %s", error)


def concurrent_of(planned: Plan) -> ConcurrentRun:
    """Another run was first, while this one was under way or was finishing a crashed one."""
    assert planned.row is not None
    return concurrent(planned.row)


def _complete(invocation: Invocation, planned: Plan) -> None:
    if planned.t is not None:
        invocation.complete[plain(planned.model.relation)] = planned.t


def _tidy(session: Session, planned: Plan, invocation: Invocation) -> None:
    """Merge small files; whatever goes wrong here has harmed nothing."""
    assert planned.row is not None
    try:
        session.run(f"OPTIMIZE {relation_name(planned.model.relation)}")
        if staging.exists(session, name := rejected.rejected_name(planned.model.relation)):
            session.run(f"OPTIMIZE {relation_name(name)}")
        compact(session, invocation.state_table, planned.row, KEEP_STATES)
    except Exception as error:
        logger.log(loudness_of_tidying(error), "small files were not merged this time: %s", error)
