"""Brings a table to another state by the rows that differ: to adopt or to rewind it.

Both are run 1 of a new generation, whose rows land in one commit. Commits without rows close the
generation before, and give the table the name of the new one: where one of these is not reached,
the next run makes the table anew.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from tapestry.errors import ConfigurationError, WindowError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.errors_of_delta import history_gone
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.plan_run import NextRun
from tapestry.runs.kinds.maintained.query import MaintainedQuery, read_query
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.kinds.maintained.replace_rows import replacement
from tapestry.runs.kinds.maintained.table_change import at_version
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claiming import closing, first_row
from tapestry.runs.protocol.finish_rewind import standing_to_rewind, too_early
from tapestry.runs.protocol.plan import Circumstances, Planned, Proof
from tapestry.runs.protocol.standing import stand
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import MANY, landed, newest_commits

ASKED = Whole(Reason.ASKED)


def adopting(session: Session, model: Model, invocation: Invocation) -> Planned:
    """Plan the run that makes the table of somebody else the model's own.

    Raises ConfigurationError where the table has other columns, or some that are not compared, and
    for an expectation that keeps rows out.
    """
    query = read_query(session, model, invocation)
    standing = stand(session, model, invocation, refresh=True)
    _refuse_other_columns(session, model, query)
    run = NextRun(session, model, invocation, standing, query, ASKED)
    row = first_row(model, standing, run.after(run.sums.first()))
    return _bringing(run, row, query.answer(row.after.t))


def rewinding(
    session: Session, model: Model, invocation: Invocation, to: datetime
) -> Planned | None:
    """Plan the run that restores the table after the last run up to ``to``; None: it is so.

    The next run goes on from the versions that this one read. Raises WindowError where the state,
    or the table's log or files, do not reach back that far.
    """
    standing = standing_to_rewind(session, model, invocation)
    assert standing.row is not None
    newest = standing.row.undone if standing.crashed or standing.closing else standing.row
    if to >= newest.after.t:
        return None
    runs = runs_of(session, invocation.state_table, newest.generation)
    runs = [one for one in runs if one.failed_at is None and one.after.t <= newest.after.t]
    before = [one for one in runs if one.after.t <= to]
    if not before:
        raise too_early(model, to, runs)
    last = before[-1]
    commit = landed(newest_commits(session, model.relation, MANY), last.generation, last.n)
    row = _again(last, standing.version)
    query = read_query(session, model, invocation, last.after.canonical)
    run = NextRun(session, model, invocation, standing, query, ASKED)
    try:
        if commit is None:
            raise _gone(model, last)
        then = at_version(model.relation, commit.version)
        planned = _bringing(run, row, f"SELECT * FROM {then}")
    except Exception as error:
        if not history_gone(error):
            raise
        raise _gone(model, last) from error
    # What an earlier run has published was checked then, by what was asked for then.
    rows, ready = replace(planned.rows, expected=()), closing(session, standing, row)
    return replace(planned, rows=rows, proof=Proof(), ready=ready)


def _bringing(run: NextRun, row: StateRow, select: str) -> Planned:
    """Plan the first run of a generation that turns a table's rows into those of ``select``."""
    _refuse_rejected(run.model, run.query)
    comparing = run.comparing(row.after, row.after.t)
    try:
        change = comparing.with_answer(select)
        made = replacement(comparing, change)
        written = run.writes(row, ASKED).replacing(made, comparing.views.names, change)
    except BaseException:
        comparing.views.release()
        raise
    return replace(written, circumstances=Circumstances())


def _again(last: StateRow, version: int) -> StateRow:
    """Return run 1 of the generation that goes on from a run; ``version`` is the table's newest."""
    return replace(
        last,
        identity=replace(last.identity, generation=uuid4().hex, n=1, run_id=uuid4().hex),
        target=Pin("", version),
        before=None,
        failed=(),
        continues=last.generation,
    )


def _gone(model: Model, last: StateRow) -> WindowError:
    t = show(last.after.t)
    return WindowError(
        f"{model.relation} can no longer be read as the run of {t} left it: its log or files are"
        " gone",
        where=model.file,
        hint=f"TAPESTRY_AS_OF='{t}Z' dbt run --full-refresh --select {model.name} builds it by the"
        " rows of today that had arrived by then",
    )


def _refuse_rejected(model: Model, query: MaintainedQuery) -> None:
    """Refuse expectations that keep rows out: the former rejected rows are unknown."""
    if query.declared.drops:
        raise ConfigurationError(
            f"{model.name} has an expectation with on_violation: drop, and what that keeps out is"
            " not brought along",
            where=model.file,
            hint=f"build the table anew: dbt run --full-refresh --select {model.name}",
        )


def _refuse_other_columns(session: Session, model: Model, query: MaintainedQuery) -> None:
    """Refuse a column that differs in the table: the next run would build it anew."""
    wanted = [(column.name, column.type) for column in query.shown]
    there = [(name, kind.lower()) for name, kind in columns_of_table(session, model.relation)]
    reason = f"has {_listed(there)}, the query gives {_listed(wanted)}" if wanted != there else ""
    if query.uncomparable:
        reason = f"has {query.uncomparable}, whose values are not compared"
    if reason:
        raise ConfigurationError(
            f"{model.relation} {reason}",
            where=model.file,
            hint="write the query so that it gives the columns of the table, in its order; or build"
            f" the table anew: dbt run --full-refresh --select {model.name}",
        )


def _listed(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
