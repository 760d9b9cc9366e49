"""One run of one model, from one state to the next (see the drawing in the package)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from time import monotonic

from tapestry.errors import ConcurrentRun, TapestryError, VerificationFailed
from tapestry.runs.checks.checks import Findings
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import ReadVolume, Session, for_little, meanwhile
from tapestry.runs.memories.keep import distrust, unread
from tapestry.runs.memories.reasons import UNREADABLE, WRONG
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.checking import check
from tapestry.runs.protocol.claiming import ClaimLostError, claim_run
from tapestry.runs.protocol.commit import commit, concurrent, give_up, overtaken
from tapestry.runs.protocol.confirm import confirm, is_due, settle, tidy
from tapestry.runs.protocol.kind import Kind
from tapestry.runs.protocol.log import Entry
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import CloseRun, Decided, Leftover, Nothing, OwnRun, Plan, Planned
from tapestry.runs.protocol.states import Claimed, Committed, Failed
from tapestry.runs.query.holding import release
from tapestry.runs.query.relations import plain
from tapestry.runs.tables.target import look

logger = logging.getLogger(__name__)

LONGEST_REASON = 2_000


@dataclass
class Stopwatch:
    """Measures one part after the other.

    parts
        Seconds by name, of those that have ended.
    """

    began: float = field(default_factory=monotonic)
    parts: dict[str, float] = field(default_factory=dict)

    def end(self, part: str) -> None:
        """Note a part: all that was not noted yet went into it."""
        before = sum(seconds for name, seconds in self.parts.items() if name != "plan")
        self.parts[part] = self.seconds - before

    @property
    def seconds(self) -> float:
        """Seconds since it began; the plan was made before that."""
        return monotonic() - self.began


def prepare(
    session: Session, kind: Kind, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Decided:
    """Plan this invocation's run; a crashed run is completed first.

    Raises what planning (``Kind.plan``) and ``execute`` raise.
    """

    def plan() -> Plan:
        return kind.plan(session, model, invocation, full_refresh)

    began = monotonic()
    planned, finished = plan(), ""
    if isinstance(planned, Leftover):
        planned.finish(session, planned.row)
        invocation.forget(model.relation)
        planned = plan()
    if isinstance(planned, CloseRun):
        give_up(session, planned.row, invocation)
        planned = plan()
    elif isinstance(planned, Planned) and planned.circumstances.again:
        finished = str(execute(session, kind, planned, invocation))
        began = monotonic()
        planned = plan()
    if isinstance(planned, OwnRun):
        return planned
    if isinstance(planned, CloseRun | Leftover):
        raise concurrent(planned.row)
    if isinstance(planned, Planned) and planned.circumstances.again:
        raise concurrent(planned.row)
    seconds = monotonic() - began
    return replace(planned, told=replace(planned.told, finished=finished, seconds=seconds))


def execute(
    session: Session, kind: Kind, planned: Decided, invocation: Invocation, anew: bool = True
) -> Outcome:
    """Carry a plan out; when this returns, its rows and the fact of the run are durable.

    anew
        A run that claims its n by its commit, and was overtaken, is planned once more.

    Raises ExpectationFailed or AssumptionWrong where a check failed (nothing is published, τ stays
    where it was), ConcurrentRun where another run of the model got ahead, StateMissing where the
    state is older than the table; errors of the statements themselves pass through.
    """
    if isinstance(planned, Nothing):
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t, finished=planned.told.finished)
    if isinstance(planned, OwnRun):
        return planned.carry_out(session, invocation)
    invocation.asked.requests += planned.requests
    try:
        with for_little(session, planned.little):
            return _execute(session, kind, planned, invocation)
    except Exception as error:
        if anew and isinstance(error, ConcurrentRun) and planned.claims_by_commit:
            return _after_the_faster(session, kind, planned, invocation, error)
        if planned.remembers and not _would_be_again(error):
            return _without_memories(session, kind, planned, invocation, error)
        by_changes = planned.told.figures.refreshed.by_changes
        if not by_changes or not invocation.pins.lose(planned.model.relation, error):
            raise
        return _by_whole_answer(session, kind, planned, invocation, error)


def _after_the_faster(
    session: Session, kind: Kind, planned: Planned, invocation: Invocation, error: ConcurrentRun
) -> Outcome:
    """Go on from the run that was faster: this one has written nothing.

    Raises ``error`` where there is no way on from there: the table was built anew, or rewound.
    """
    invocation.forget(planned.model.relation)
    target = look(session, planned.row.model)
    if target is None or target.generation != planned.row.generation:
        raise error
    try:
        again = prepare(session, kind, planned.model, invocation)
    except TapestryError as other:
        raise error from other
    if isinstance(again, Planned) and again.row.generation != planned.row.generation:
        raise error
    return execute(session, kind, again, invocation, anew=False)


def _would_be_again(error: Exception) -> bool:
    """Return whether a run without memories would raise the same error."""
    return isinstance(error, TapestryError) and not isinstance(error, VerificationFailed)


def _without_memories(
    session: Session, kind: Kind, planned: Planned, invocation: Invocation, error: Exception
) -> Outcome:
    """Execute the run once more, reading only its sources.

    If it succeeds its memories are dropped, before its checks if the first one had wrong answers.
    """
    model = planned.model
    logger.warning("%s is run again without memories: %s", model.name, error)
    invocation.asked.distrusting.add(model.relation)
    again = prepare(session, kind, model, invocation, full_refresh=planned.replaces)
    outcome = execute(session, kind, again, invocation)
    reason = UNREADABLE
    if isinstance(error, VerificationFailed):
        reason, names = WRONG, distrust(session, planned.requests)
        logger.warning("answers from %s were wrong: it was dropped", ", ".join(names))
    invocation.asked.requests[:] = unread(invocation.asked.requests, planned.requests, reason)
    return outcome


def _by_whole_answer(
    session: Session, kind: Kind, planned: Planned, invocation: Invocation, error: Exception
) -> Outcome:
    """Execute the run by the whole answer, as a file that the last run has read is gone."""
    logger.warning("%s is computed whole: %s", planned.model.name, str(error).partition("\n")[0])
    invocation.forget(planned.model.relation)
    return execute(session, kind, prepare(session, kind, planned.model, invocation), invocation)


def _execute(session: Session, kind: Kind, planned: Planned, invocation: Invocation) -> Outcome:
    """Go through the states of a run one after the other, from planned to confirmed."""
    watch, row = Stopwatch(parts={"plan": planned.told.seconds}), planned.row
    crash.point("planned")
    if planned.traceless and _finds_nothing(session, planned):
        invocation.recall.note_looked(row)
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t, finished=planned.told.finished)
    try:
        claimed = claim_run(session, planned, invocation)
        watch.end("claim")
        reached, reading = _up_to_the_commit(session, claimed, invocation, watch)
    except ClaimLostError:
        invocation.forget(row.model)
        if not planned.circumstances.warm:
            raise concurrent(row) from None
        # The memory did not know of a run that another process claimed, and perhaps crashed in.
        again = prepare(session, kind, planned.model, invocation)
        return execute(session, kind, again, invocation)
    if isinstance(reached, Failed):
        give_up(session, row, invocation, planned.unsure)
        reading.look()
        entry = _failed(planned, reached.found, watch, reading, str(reached.error))
        invocation.log.append(entry)
        raise concurrent(row) if overtaken(session, planned, reached.error) else reached.error
    crash.point("committed")
    with meanwhile(session, reading.look, wanted=True):
        confirmed = confirm(session, reached, invocation)
        settle(session, confirmed)
    found, landed = confirmed.found, confirmed.commit
    _complete(invocation, planned)
    watch.end("confirm")
    spent = (watch.seconds, planned, reading, landed)
    invocation.log.append(Entry(row.identity, found, *spent, parts=watch.parts))
    crash.point("confirmed")
    if is_due(row):
        tidy(session, planned, invocation.state_table)
    rows = None if landed is None else landed.written.rows
    did = (planned.action, row.since, row.after.t, row.n, rows, found.rejected_rows, found.results)
    return Outcome(*did, finished=planned.told.finished, refreshed=planned.told.figures.refreshed)


def _finds_nothing(session: Session, planned: Planned) -> bool:
    """Return whether there are no new rows; on an error false: the run itself will report it."""
    try:
        return not session.rows(f"SELECT 1 FROM (\n{planned.rows.unchecked}\n) LIMIT 1")
    except Exception as error:
        logger.debug("whether there are new rows was not told: %s", error)
        return False


def _up_to_the_commit(
    session: Session, claimed: Claimed, invocation: Invocation, watch: Stopwatch
) -> tuple[Committed | Failed, ReadVolume]:
    """Execute ``check`` and ``commit``, measured; log their errors with the run."""
    planned, reading = claimed.planned, ReadVolume()
    try:
        with session.can.measured() as reading:
            checked = check(session, claimed)
            watch.end("rows")
            if isinstance(checked, Failed):
                return checked, reading
            committed = commit(session, checked)
            watch.end("commit")
            return committed, reading
    except ClaimLostError:
        raise
    except Exception as error:
        if planned.claims_by_commit and overtaken(session, planned, error):
            raise concurrent(planned.row) from error
        reading.look()
        reason = str(error)[:LONGEST_REASON]
        invocation.log.append(_failed(planned, Findings(), watch, reading, reason))
        _abandon(session, claimed, invocation)
        if overtaken(session, planned, error):
            raise concurrent(planned.row) from error
        raise
    finally:
        release(session, planned.rows.holding)


def _failed(
    planned: Planned, found: Findings, watch: Stopwatch, reading: ReadVolume, reason: str
) -> Entry:
    spent = (watch.seconds, planned, reading)
    return Entry(planned.row.identity, found, *spent, reason=reason, parts=watch.parts)


def _abandon(session: Session, claimed: Claimed, invocation: Invocation) -> None:
    """Close a run whose statements failed, so that the next one can profit from corrections.

    Executed again over the old pins and the old query it would fail for ever. Where it cannot be
    closed (the storage is unreachable, or it had landed) the next run finds out, as after a kill.
    """
    planned = claimed.planned
    try:
        claimed.sure()
        give_up(session, planned.row, invocation, planned.unsure)
    except Exception as error:
        logger.debug("the run that failed was not closed: %s", error)


def _complete(invocation: Invocation, planned: Nothing | Planned) -> None:
    """Note that the table is ready for the models that read it in this invocation."""
    name = plain(planned.model.relation)
    invocation.pins.left.add(name)
    if planned.t is not None:
        invocation.states.complete[name] = planned.t
