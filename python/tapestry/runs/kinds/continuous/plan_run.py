"""The next run of a continuous model, planned over the window since the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from tapestry.errors import ConfigurationError, SourceHistoryGone
from tapestry.instants import from_micros
from tapestry.names import MATCHED_AT
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.context.clock import far_ahead, window_end
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.finish_rewind import finish
from tapestry.runs.kinds.continuous.horizons import horizons
from tapestry.runs.kinds.continuous.known.known_before import KnownBefore
from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.no_trace import without_trace
from tapestry.runs.kinds.continuous.other_columns import other_columns, refuse_changed_columns
from tapestry.runs.kinds.continuous.query import Query, query_changed, read_query
from tapestry.runs.kinds.continuous.schema_change import reconcile, refuse_narrower
from tapestry.runs.kinds.continuous.verify import verified
from tapestry.runs.kinds.continuous.window.ask_question import ask, began, held
from tapestry.runs.kinds.continuous.window.count_instants import count_instants
from tapestry.runs.kinds.continuous.window.new_answers import new_answers, with_measured
from tapestry.runs.kinds.continuous.window.over_memories import over_memories, untimely
from tapestry.runs.kinds.continuous.window.question import keyed, question_of, said_of
from tapestry.runs.kinds.continuous.window.shared_window import Asker, share_window
from tapestry.runs.kinds.continuous.window.sources_of_run import (
    as_read_by,
    before_of,
    examine_sources,
    executed,
    keeping,
    scans_of,
    warnings_of,
)
from tapestry.runs.memories.ask import Asking
from tapestry.runs.memories.look import AnyWish
from tapestry.runs.memories.new_part import read_memories
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import plain
from tapestry.runs.query.settings import grown_otherwise, refuse_grown_otherwise, same_query
from tapestry.runs.query.spark_reads import refuse_read_otherwise
from tapestry.runs.run.commit import closing_sql
from tapestry.runs.run.plan import (
    Appending,
    CloseRun,
    Creation,
    Decided,
    Figures,
    Leftover,
    Nothing,
    Plan,
    WriteRows,
)
from tapestry.runs.run.standing import Standing
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.runs.sources.pins import Pins
from tapestry.runs.tables.state import StateRow
from tapestry.runs.tables.target import EMPTY_GENERATION
from tapestry.sql import Window


@dataclass(frozen=True)
class Planning:
    """One model, where it stands, and who asks: what all steps of planning its run share."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing

    @property
    def known(self) -> KnownBefore:
        """What tells what a run knows of those before it."""
        state = self.invocation.state_table
        return KnownBefore(self.session, self.model, self.standing, state)

    def plan(self) -> Plan:
        """What comes first: to go on with what has crashed, to begin anew, or the next window."""
        model, standing, row = self.model, self.standing, self.standing.row
        if row is None:
            return self.creation(self.query(model.sql, model.config.begin))
        if standing.unnamed:
            return Leftover(row, finish)
        if standing.closing:
            return CloseRun(model, row)
        if standing.crashed:
            return self.crashed(row)
        query, begin = self.query(model.sql, row.begin), row.begin
        if not same_query(row.canonical, query.canonical):
            begin = self.begin_of_changed(query, row)
            query = self.query(model.sql, begin)
            if model.config.on_query_change == "refresh":
                return self.creation(query)
        return self.following(query, row, begin)

    def begin_of_changed(self, query: Query, row: StateRow) -> datetime | None:
        """From when on a query counts that is not the one of the last run.

        Raises QueryChanged where the model does not say that it may go on.
        """
        model = self.model
        rule, begin = model.config.on_query_change, model.config.begin
        if rule == "refresh":
            return begin
        found = other_columns(row.canonical, query)
        if found is not None:
            refuse_changed_columns(model, found, row, query)
            if not (found.new or found.gone):
                return row.begin  # in another order: rows are inserted by the columns' names
        elif rule == "fail":
            raise query_changed(model, row.canonical, query)
        return row.t if begin is None or begin < row.t else begin

    def query(self, sql: str, begin: datetime | None, pins: Pins | None = None) -> Query:
        """A text as this invocation reads it."""
        return read_query(self.session, self.model, self.invocation, sql, begin, pins)

    def crashed(self, row: StateRow) -> Plan:
        """The run that crashed once more, as it was; closed, where it cannot be."""
        query = self.query_of_crashed(row)
        if query is None:
            return CloseRun(self.model, row)
        planned = self.appending(query, row, reshape=True)
        if planned is not None:
            return planned
        return self.creation(self.query(self.model.sql, self.model.config.begin))

    def query_of_crashed(self, row: StateRow) -> Query | None:
        """The query of a run that crashed, as it was.

        None where what it read can no longer be read, where today's expectations are about columns
        that it did not have, and fit the query of today, or where it would be executed under other
        settings: nothing of the run has landed, so its window can be run anew.
        """
        model, invocation, complete = self.model, self.invocation, self.standing.complete_history
        if grown_otherwise(row.canonical, invocation.settings):
            if complete:
                return None
            refuse_grown_otherwise(model, row.canonical, invocation.settings)
        try:
            return self.query(row.canonical, row.begin, AsRead(invocation.pins, row.pins))
        except (ConfigurationError, SourceHistoryGone) as error:
            if complete and isinstance(error, SourceHistoryGone):
                return None
            if not complete or not model.config.expectations:
                raise
            self.query(model.sql, row.begin)
            return None

    def creation(self, query: Query) -> WriteRows:
        """The first run of a new generation: all of Q_M(t)."""
        session, model, invocation = self.session, self.model, self.invocation
        limits, warnings = horizons(session, invocation, query.relations.tables)
        end = window_end(invocation.clock, model.config.lag, None, limits)
        assert end.t is not None  # without a last run there is always a window
        row = self.first_row(query, end.t)
        found = examine_sources(session, model, invocation, query, row)
        window, scans = Window(None, row.t), scans_of(found)
        wishes = self.wishes(query, window, found)
        answers = new_answers(query, query, window, found)
        count_instants(session, model, query, window, scans)
        known = self.known.first(query, row, found)
        row, select = known.row, answers.sql(scans)
        refuse_read_otherwise(session, model, query, select)
        if (answers := over_memories(answers, wishes, found)).uses or answers.pairs:
            select = answers.sql(scans)
        question, row = began(session, question_of(model, query, row, scans), row)
        question, holding = held(question, query)
        columns = (*query.rewriting.columns, MATCHED_AT)
        replaces = self.standing.target is not None
        return WriteRows(
            row,
            NewRows(
                model,
                row.identity,
                select,
                selected=columns,
                columns=columns,
                expected=query.expected,
                keyed=keyed(answers, question, query),
                holding=holding,
                creates=True,
                audit=query.rewriting.audit,
            ),
            Creation(model, row.generation, replaces, invocation.state_table),
            invocation.state_table,
            beside=known.rows,
            assumptions=query.rewriting.assumption_checks(window, scans),
            verification=verified(question),
            commits=query.relations.unkept(invocation.pins.commits_table),
            ready=self.closing(row),
            figures=_figures(query.rewriting.strategy, found, limits),
            warnings=(
                *(*warnings, *warnings_of(found), *said_of(model, query)),
                *far_ahead(invocation.clock, row.t, query.commits),
            ),
            little=query.little,
            wishes=wishes,
        )

    def wishes(
        self,
        query: Query,
        window: Window,
        found: Mapping[str, Examination],
        plain: Query | None = None,
    ) -> tuple[AnyWish, ...]:
        """What a run over a window asks of memories; ``plain`` as in ``Asking``."""
        model, invocation, again = self.model, self.invocation, self.standing.crashed
        asking = Asking(self.session, model, invocation, query, window, again, plain)
        return read_memories(asking, untimely(found))

    def first_row(self, query: Query, t: datetime) -> StateRow:
        """Run 1 of a new generation, from the begin to t."""
        return StateRow(
            model=plain(self.model.relation),
            generation=uuid4().hex,
            n=1,
            run_id=uuid4().hex,
            tau=None,
            t=t,
            begin=self.model.config.begin,
            target_id="",
            target_version=self.standing.version,
            pins=query.pins,
            last_pins={},
            canonical=query.canonical,
            sql=self.model.sql,
        )

    def closing(self, row: StateRow) -> tuple[str, ...]:
        """What closes the generation that a creation replaces."""
        target = self.standing.target
        old = target.generation if target is not None else None
        if old is None or old == EMPTY_GENERATION:
            return ()
        columns = len(columns_of_table(self.session, row.model))
        return (closing_sql(row.model, columns, old, row.run_id),)

    def following(self, query: Query, last: StateRow, begin: datetime | None) -> Decided:
        """The run after the last one that landed, or nothing."""
        session, model, invocation, target = (
            self.session,
            self.model,
            self.invocation,
            self.standing.target,
        )
        assert target is not None  # a row without a target is nobody's
        limits, warnings = horizons(session, invocation, query.relations.tables)
        end = window_end(invocation.clock, model.config.lag, last.t, limits)
        if end.t is None:
            return Nothing(model, last.t, (*warnings, *end.warnings))
        changed = not same_query(last.canonical, query.canonical)
        looked = invocation.memory.looked(last)
        if not (changed or self.standing.accepted) and query.pins == looked.pins:
            due = self.due_by_time(query, looked)
            if due is None or due > end.t:
                return Nothing(model, end.t, warnings)
        row = replace(
            last,
            n=last.n + 1,
            run_id=uuid4().hex,
            tau=last.t,
            t=end.t,
            begin=begin,
            target_id=target.table_id,
            target_version=self.standing.version,
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
        planned = self.appending(query, row, reshape=changed)
        if planned is None:
            return self.creation(self.query(model.sql, model.config.begin))
        far = far_ahead(invocation.clock, row.t, query.commits)
        return replace(
            planned,
            warnings=(*warnings, *planned.warnings, *far),
            figures=replace(planned.figures, horizon=_horizon(limits)),
        )

    def appending(self, query: Query, row: StateRow, reshape: bool) -> WriteRows | None:
        """Run ``row``, whether new or crashed; None where a source asks for a creation."""
        session, model, standing = self.session, self.model, self.standing
        found = examine_sources(session, model, self.invocation, query, row)
        if any(e.refresh for e in found.values()):
            return None
        if not standing.crashed:  # asked before it was claimed, over the sources of then
            refuse_narrower(session, model, self.invocation, query, row.generation)
        row = replace(row, pins=keeping(row.pins, found))
        knowing = executed(query, found, model, self.invocation)
        window, scans = Window(row.tau, row.t), scans_of(found)
        plain = query
        answers, query = new_answers(query, knowing, window, found, row.began), knowing
        shared = share_window(session, model, self.invocation, Asker(query, row, found))
        answers = with_measured(session, query, answers, found, shared.few)
        row = (known := self.known.later(query, row, found, answers.few)).row
        wishes = self.wishes(query, window, found, plain)
        answers = replace(answers, known=known.answers, hashes=known.hashes)
        answers = over_memories(answers, wishes, found)
        if not before_of(found):  # else the scans read what is yet to be written
            count_instants(session, model, knowing, window, scans, known.answers)
        asked = ask(session, model, query, row, found, answers)
        columns, ready = reconcile(session, model, self.invocation, query, row, reshape)
        planned = WriteRows(
            asked.row,
            NewRows(
                model,
                asked.row.identity,
                answers.sql({**scans, **shared.scans}),
                selected=(*query.rewriting.columns, MATCHED_AT),
                columns=columns,
                expected=query.expected,
                keyed=asked.keyed,
                holding=asked.holding,
            ),
            Appending(asked.row, columns),
            self.invocation.state_table,
            before=before_of(found),
            beside=known.rows,
            commits=query.relations.unkept(self.invocation.pins.commits_table),
            assumptions=query.rewriting.assumption_checks(window, scans),
            verification=verified(asked.question),
            ready=ready,
            circumstances=standing.circumstances,
            figures=_figures(answers.strategy, found, {}),
            warnings=(*warnings_of(found), *said_of(model, query), *known.warnings),
            little=query.little or shared.little,
            wishes=wishes,
        )
        return without_trace(planned, shared, reshape or standing.accepted)

    def due_by_time(self, query: Query, last: StateRow) -> datetime | None:
        """The first instant after the last run at which time alone may bring an answer.

        None: none ever. It depends on the pins only, so a warm process asks once.
        """
        invocation, key = self.invocation, (last.generation, last.n, last.t)
        known, due = invocation.memory.quiet(key)
        if known:
            return due
        query, scans = as_read_by(self.session, self.model, invocation, query, last)
        bounds = query.rewriting.bounds(last.t, last.t, scans)
        if bounds:
            listed = ", ".join(f"({bound})" for bound in bounds)
            ((least,),) = self.session.rows(f"SELECT unix_micros(array_min(array({listed})))")
            # Beyond the year 9999 the passing of time brings nothing: no run gets there.
            due = None if least is None else from_micros(int(least))
        invocation.memory.note_quiet(key, due)
        return due


def _figures(
    strategy: str, found: Mapping[str, Examination], limits: Mapping[str, datetime]
) -> Figures:
    """What is told of a run over these sources."""
    return Figures(
        strategy,
        sum(one.late_rows for one in found.values()),
        sum(one.null_rows for one in found.values()),
        _horizon(limits),
    )


def _horizon(limits: Mapping[str, datetime]) -> datetime | None:
    return min(limits.values(), default=None)
