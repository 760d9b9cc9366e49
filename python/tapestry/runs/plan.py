"""What one run of one model will do, decided before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import uuid4

from tapestry.errors import ConfigurationError
from tapestry.instants import from_micros
from tapestry.names import MATCHED_AT
from tapestry.runs.asked import asked, began, held
from tapestry.runs.clock import far_ahead, window_end
from tapestry.runs.column_types import columns_of_table
from tapestry.runs.commit import append_sql, closing_sql, create_sql
from tapestry.runs.ended import new_answers
from tapestry.runs.examined import (
    as_read_by,
    before_of,
    examine_sources,
    executed,
    keeping,
    scans_of,
    standing_scans_of,
    warnings_of,
)
from tapestry.runs.expectations.validate import Prepared
from tapestry.runs.holding import NOTHING_HELD, Holding
from tapestry.runs.horizons import horizons
from tapestry.runs.invocation import Invocation
from tapestry.runs.model import Model
from tapestry.runs.narrow import few_rows
from tapestry.runs.query import Query, query_changed, read_query
from tapestry.runs.question import Question, keyed, not_verified, question_of
from tapestry.runs.relations import plain
from tapestry.runs.schema_change import reconcile, refuse_narrower
from tapestry.runs.session import Session
from tapestry.runs.settings import grown_otherwise, refuse_grown_otherwise, same_query
from tapestry.runs.sources.as_read import AsRead
from tapestry.runs.spark_reads import refuse_read_otherwise
from tapestry.runs.standing import Standing, stand
from tapestry.runs.state import StateRow
from tapestry.runs.target import EMPTY_GENERATION
from tapestry.sql import Window

Action = Literal["create", "append", "nothing"]


@dataclass(frozen=True)
class Plan:
    """One run: ``row`` is claimed, ``before`` executed, ``checks`` count 0, ``main`` commits.

    Where there is something to check on the new rows they are staged and checked in between, and
    ``statement`` over the staged rows commits instead of ``main``.

    row
        None where there is nothing to do.
    checks
        What the author assumes, each with a SELECT of the number of cases that break it.
    ready
        Executed when all checks are passed, just before the commit.
    select
        Q^I alone: what people read, and what is staged.
    columns
        What of it goes into the target; ``selected`` is all that Q^I has.
    expected
        The expectations on the new rows, fitted to them.
    question
        What the rows are verified with; ``keyed`` is Q^I with the keys for that, both over the
        sources as ``holding`` has them once ``before`` was executed.
    little
        All that the query reads is small.
    discard
        A run whose checks failed, or that no longer fits the model: it is closed without rows.
    horizon
        The least instant up to which an upstream continuous model is complete; None: there is none.
    t
        The instant up to which the target's answers are complete when the run is over.
    again
        A run that crashed is executed once more: it is claimed already. ``complete_history``: the
        target's log can still tell whether it has landed.
    warm
        Planned from what this process remembers of the state (see ``Standing``).
    rewound
        The run that a rewind left behind; its table has yet to get the name of its generation.
    state_table
        Where a creation finds whose table lies in its folder.
    finished
        What the run did that had crashed and was brought to its end before this one was planned.
    """

    action: Action
    model: Model
    t: datetime | None
    row: StateRow | None = None
    before: tuple[str, ...] = ()
    main: str = ""
    checks: tuple[tuple[str, str], ...] = ()
    select: str = ""
    ready: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    expected: tuple[Prepared, ...] = ()
    question: Question | None = None
    keyed: str = ""
    holding: Holding = NOTHING_HELD
    little: bool = False
    replaces: bool = False
    discard: bool = False
    attempt: str | None = None
    horizon: datetime | None = None
    warnings: tuple[str, ...] = ()
    strategy: str = ""
    late_rows: int = 0
    null_rows: int = 0
    again: bool = False
    warm: bool = False
    complete_history: bool = True
    rewound: StateRow | None = None
    finished: str = ""
    state_table: str = ""

    def statement(self, select: str, attempt: str = "") -> str:
        """What commits the rows of ``select``."""
        assert self.row is not None
        if self.action == "create":
            return create_sql(
                self.model, self.row.generation, select, self.replaces, self.state_table
            )
        return append_sql(self.row, self.columns, select, attempt)


def plan(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Plan:
    """Decide; writes nothing. A crashed run is planned again as it was (``Plan.again``).

    Raises one of the errors of ``tapestry.errors``.
    """
    standing = stand(session, model, invocation, full_refresh)
    row, configured = standing.row, model.config.begin
    if standing.unnamed:
        return Plan("nothing", model, None, rewound=row)
    if row is None:
        query = read_query(session, model, invocation, model.sql, configured)
        return _creation(session, model, invocation, standing, query)
    if standing.closing:
        return Plan("append", model, row.tau, row, again=True, discard=True)
    if standing.crashed:
        old = _query_of_crashed(session, model, invocation, row, standing)
        if old is None:
            return Plan("append", model, row.tau, row, again=True, discard=True)
        planned = _appending(session, model, invocation, old, row, standing, reshape=True)
        if planned.action == "append":
            return planned
        query = read_query(session, model, invocation, model.sql, configured)
        return _creation(session, model, invocation, standing, query)
    query = read_query(session, model, invocation, model.sql, row.begin)
    changed = not same_query(row.canonical, query.canonical)
    rule = model.config.on_query_change
    if changed and rule == "fail":
        raise query_changed(model, row.canonical, query)
    if changed:
        begin = configured
        if rule == "continue" and (configured is None or configured < row.t):
            begin = row.t
        query = read_query(session, model, invocation, model.sql, begin)
    if changed and rule == "refresh":
        return _creation(session, model, invocation, standing, query)
    return _next(session, model, invocation, standing, query, begin if changed else row.begin)


def _query_of_crashed(
    session: Session, model: Model, invocation: Invocation, row: StateRow, standing: Standing
) -> Query | None:
    """The query of a run that crashed, as it was.

    None where today's expectations are about columns that it did not have, and fit the query of
    today, or where it would be executed under other settings: nothing of the run has landed, so its
    window can be run anew.
    """
    if grown_otherwise(row.canonical, invocation.settings):
        if standing.complete_history:
            return None
        refuse_grown_otherwise(model, row.canonical, invocation.settings)
    try:
        pins = AsRead(invocation.pins, row.pins)
        return read_query(session, model, invocation, row.canonical, row.begin, pins)
    except ConfigurationError:
        if not standing.complete_history or not model.config.expectations:
            raise
        read_query(session, model, invocation, model.sql, row.begin)
        return None


def _creation(
    session: Session, model: Model, invocation: Invocation, standing: Standing, query: Query
) -> Plan:
    """The first run of a new generation: all of Q_M(t)."""
    limits, warnings = horizons(session, invocation, query.relations.tables)
    end = window_end(invocation.clock, model.config.lag, None, limits)
    assert end.t is not None  # without a last run there is always a window
    row = _first_row(model, standing, query, end.t)
    found = examine_sources(session, model, invocation, query, row)
    window, scans = Window(None, row.t), scans_of(found)
    answers = new_answers(query, query, window, found)
    select = answers.sql(scans)
    refuse_read_otherwise(session, model, query, select)
    question, row = began(session, question_of(model, query, row, scans), row)
    question, holding = held(question, query)
    return Plan(
        "create",
        model,
        row.t,
        row,
        ready=_closing(session, row, standing),
        main=create_sql(
            model, row.generation, select, standing.target is not None, invocation.state_table
        ),
        columns=(*query.rewriting.columns, MATCHED_AT),
        selected=(*query.rewriting.columns, MATCHED_AT),
        expected=query.expected,
        question=question,
        keyed=keyed(answers, question),
        holding=holding,
        little=query.little,
        replaces=standing.target is not None,
        horizon=min(limits.values(), default=None),
        checks=query.rewriting.assumption_checks(window, scans),
        select=select,
        strategy=query.rewriting.strategy,
        late_rows=sum(e.late_rows for e in found.values()),
        null_rows=sum(e.null_rows for e in found.values()),
        state_table=invocation.state_table,
        warnings=(
            *(*warnings, *warnings_of(found), *not_verified(model, query)),
            *far_ahead(invocation.clock, row.t, query.commits),
        ),
    )


def _first_row(model: Model, standing: Standing, query: Query, t: datetime) -> StateRow:
    """Run 1 of a new generation, from the begin to t."""
    return StateRow(
        model=plain(model.relation),
        generation=uuid4().hex,
        n=1,
        run_id=uuid4().hex,
        tau=None,
        t=t,
        begin=model.config.begin,
        target_id="",
        target_version=standing.version,
        pins=query.pins,
        last_pins={},
        canonical=query.canonical,
        sql=model.sql,
    )


def _closing(session: Session, row: StateRow, standing: Standing) -> tuple[str, ...]:
    """What closes the generation that a creation replaces."""
    old = standing.target.generation if standing.target is not None else None
    if old is None or old == EMPTY_GENERATION:
        return ()
    columns = len(columns_of_table(session, row.model))
    return (closing_sql(row.model, columns, old, row.run_id),)


def _next(
    session: Session,
    model: Model,
    invocation: Invocation,
    standing: Standing,
    query: Query,
    begin: datetime | None,
) -> Plan:
    """The run after the last one that landed, or nothing."""
    last, target = standing.row, standing.target
    assert last is not None
    assert target is not None
    limits, warnings = horizons(session, invocation, query.relations.tables)
    end = window_end(invocation.clock, model.config.lag, last.t, limits)
    if end.t is None:
        return Plan("nothing", model, last.t, warnings=(*warnings, *end.warnings))
    changed = not same_query(last.canonical, query.canonical)
    if not (changed or standing.accepted) and query.pins == last.pins:
        due = due_by_time(session, model, invocation, query, last)
        if due is None or due > end.t:
            return Plan("nothing", model, end.t, warnings=warnings)
    row = replace(
        last,
        n=last.n + 1,
        run_id=uuid4().hex,
        tau=last.t,
        t=end.t,
        begin=begin,
        target_id=target.table_id,
        target_version=standing.version,
        pins=query.pins,
        last_pins=last.pins,
        canonical=query.canonical,
        sql=model.sql,
        last_canonical=last.canonical,
        last_begin=last.begin,
        failed_at=None,
    )
    if changed:
        refuse_read_otherwise(session, model, query)
    planned = _appending(session, model, invocation, query, row, standing, reshape=changed)
    if planned.action == "create":
        query = read_query(session, model, invocation, model.sql, model.config.begin)
        return _creation(session, model, invocation, standing, query)
    far = far_ahead(invocation.clock, row.t, query.commits)
    return replace(
        planned,
        warnings=(*warnings, *planned.warnings, *far),
        horizon=min(limits.values(), default=None),
    )


def _appending(
    session: Session,
    model: Model,
    invocation: Invocation,
    query: Query,
    row: StateRow,
    standing: Standing,
    reshape: bool,
) -> Plan:
    """Run ``row``, whether new or crashed; ``action`` is create where a source asks for that."""
    found = examine_sources(session, model, invocation, query, row)
    if any(e.refresh for e in found.values()):
        return Plan("create", model, row.t)
    if not standing.crashed:  # it was asked before it was claimed, over the sources of then
        refuse_narrower(session, model, invocation, query, row.generation)
    row = replace(row, pins=keeping(row.pins, found))
    knowing = executed(query, found, model, invocation)
    window, scans = Window(row.tau, row.t), scans_of(found)
    answers, query = new_answers(query, knowing, window, found), knowing
    few = few_rows(session, *answers.widest(standing_scans_of(found)), query.sizes)
    select = answers.sql(scans, few=few)
    question, row, holding, text = asked(session, model, query, row, found, answers, few)
    selected = (*query.rewriting.columns, MATCHED_AT)
    columns, ready, chosen = reconcile(session, model, query.sql, selected, select, reshape)
    return Plan(
        "append",
        model,
        row.t,
        row,
        before=before_of(found),
        ready=ready,
        main=append_sql(row, columns, chosen),
        columns=columns,
        selected=selected,
        expected=query.expected,
        question=question,
        keyed=text,
        holding=holding,
        little=query.little,
        attempt=standing.attempt,
        checks=query.rewriting.assumption_checks(window, scans),
        select=select,
        strategy=answers.strategy,
        late_rows=sum(e.late_rows for e in found.values()),
        null_rows=sum(e.null_rows for e in found.values()),
        warnings=(*warnings_of(found), *not_verified(model, query)),
        again=standing.crashed,
        warm=standing.warm,
        complete_history=standing.complete_history,
    )


def due_by_time(
    session: Session, model: Model, invocation: Invocation, query: Query, last: StateRow
) -> datetime | None:
    """The first instant after the last run at which the passing of time alone may bring an answer.

    None: none ever. It depends on the pins only, so a warm process asks once.
    """
    key = (last.generation, last.n)
    known, due = invocation.memory.quiet(key)
    if known:
        return due
    query, scans = as_read_by(session, model, invocation, query, last)
    bounds = query.rewriting.bounds(last.t, last.t, scans)
    if bounds:
        listed = ", ".join(f"({bound})" for bound in bounds)
        ((least,),) = session.rows(f"SELECT unix_micros(array_min(array({listed})))")
        # Beyond the year 9999 the passing of time brings nothing: no run gets there.
        due = None if least is None else from_micros(int(least))
    invocation.memory.note_quiet(key, due)
    return due
