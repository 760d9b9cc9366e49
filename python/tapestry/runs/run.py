"""One run of one model, in order: plan, claim, side tables, commit, confirm, tidy up."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timezone
from time import monotonic

from tapestry.errors import ConcurrentRun, ConfigurationError
from tapestry.runs.commit import commit, concurrent, confirm
from tapestry.runs.crash import point
from tapestry.runs.instants import show
from tapestry.runs.invocation import Invocation
from tapestry.runs.log import Entry
from tapestry.runs.memory import Known
from tapestry.runs.model import Model
from tapestry.runs.plan import Plan, plan
from tapestry.runs.relations import plain
from tapestry.runs.session import Session
from tapestry.runs.sources.literals import relation_name
from tapestry.runs.state import claim, compact

logger = logging.getLogger(__name__)

COMPACT_EVERY = 50
"""So many runs leave so many small files: then they are merged."""
KEEP_STATES = 1_000


@dataclass(frozen=True)
class Outcome:
    """What a run did; ``rows`` is None where the log does not say."""

    action: str
    tau: datetime | None
    t: datetime | None
    n: int | None = None
    rows: int | None = None

    def __str__(self) -> str:
        if self.action == "nothing":
            return "nothing new"
        window = f"({show(self.tau)}, {show(self.t)}]"
        rows = "" if self.rows is None else f"{self.rows} rows "
        return f"{rows}in {window}"


def prepare(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Plan:
    """The plan of this invocation's run; a run that crashed is brought to its end first.

    Raises what ``plan`` and ``execute`` raise.
    """
    planned = plan(session, model, invocation, full_refresh)
    if planned.again:
        execute(session, planned, invocation)
        planned = plan(session, model, invocation, full_refresh)
        if planned.again:
            raise concurrent_of(planned)
    return planned


def execute(session: Session, planned: Plan, invocation: Invocation) -> Outcome:
    """Carry a plan out; when this returns, its rows and the fact of the run are durable.

    Raises ConcurrentRun where another run of the model got ahead, StateMissing where the state
    is older than the table, ConfigurationError where an assumption is wrong; errors of the
    statements themselves pass through.
    """
    row = planned.row
    if row is None:
        _complete(invocation, planned)
        return Outcome("nothing", None, planned.t)
    began = monotonic()
    point("planned")
    if not planned.again and not claim(session, invocation.state_table, row):
        invocation.forget(row.model)
        if not planned.warm:
            raise concurrent(row)
        # The memory did not know of a run that another process claimed, and perhaps crashed in.
        return execute(session, prepare(session, planned.model, invocation), invocation)
    invocation.claimed(row)
    point("claimed")
    for statement in planned.before:
        session.run(statement)
    point("before_written")
    _check(session, planned)
    commit(session, row, planned.main)
    point("committed")
    landed = confirm(session, row, planned.complete_history)
    invocation.memory.note(Known(landed.target, row, landed.version))
    _complete(invocation, planned)
    ended = datetime.now(timezone.utc)
    invocation.log.append(Entry(planned, landed.rows, monotonic() - began, ended))
    point("confirmed")
    if row.n % COMPACT_EVERY == 0:
        _tidy(session, planned, invocation)
    return Outcome(planned.action, row.tau, row.t, row.n, landed.rows)


def _check(session: Session, planned: Plan) -> None:
    """Raise ConfigurationError for an assumption that the rows of this window break.

    A wrong one would lose answers, so nothing is published: n stays claimed, and the next run
    executes it without what the author took back.
    """
    for text, count in planned.checks:
        ((broken,),) = session.rows(count)
        if broken:
            cases = "1 pair" if broken == 1 else f"{broken} pairs"
            raise ConfigurationError(
                f"assume: {text} does not hold: {cases} of rows in this window break it",
                where=planned.model.file,
                hint="remove it, or allow for the difference in it; no answer was written",
            )


def concurrent_of(planned: Plan) -> ConcurrentRun:
    """Another run claimed the next n while this one was finishing the crashed one."""
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
        compact(session, invocation.state_table, planned.row, KEEP_STATES)
    except Exception as error:
        logger.warning("small files were not merged this time: %s", error)
