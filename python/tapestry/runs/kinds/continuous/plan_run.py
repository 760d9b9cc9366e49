"""Plans the next run of a continuous model over the window since the last one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tapestry.errors import ConfigurationError, SourceHistoryGone
from tapestry.instants import from_micros
from tapestry.runs.context.clock import window_end
from tapestry.runs.kinds.continuous.append import appending
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.create import creation
from tapestry.runs.kinds.continuous.horizons import horizons
from tapestry.runs.kinds.continuous.other_columns import other_columns, refuse_changed_columns
from tapestry.runs.kinds.continuous.planning import Planning, bounded
from tapestry.runs.kinds.continuous.query import Query, query_changed
from tapestry.runs.kinds.continuous.window.sources_of_run import as_read_by
from tapestry.runs.protocol.claiming import following_row
from tapestry.runs.protocol.finish_rewind import finish
from tapestry.runs.protocol.plan import CloseRun, Decided, Leftover, Nothing, Plan, Planned, Told
from tapestry.runs.query.settings import grown_otherwise, refuse_grown_otherwise, same_query
from tapestry.runs.query.spark_reads import refuse_read_otherwise
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.runs.tables.state_row import Position, StateRow, seal_of


class Decision(Planning):
    """The steps by which it is decided what a run does."""

    def plan(self) -> Plan:
        """Plan the next step: a crashed run again, a new beginning, or the next window."""
        config: ContinuousConfig = self.model.config.own
        model, standing, row = self.model, self.standing, self.standing.row
        if row is None:
            return self.creation(self.query(model.sql, config.begin))
        if standing.unnamed:
            return Leftover(row, finish)
        if standing.closing:
            return CloseRun(model, row)
        if standing.crashed:
            return self.crashed(row)
        begin = begins(row).begin
        query = self.query(model.sql, begin)
        if not same_query(row.after.canonical, query.canonical):
            begin = self.begin_of_changed(query, row)
            query = self.query(model.sql, begin)
            if config.on_query_change == "refresh":
                return self.creation(query)
        return self.following(query, row, begin)

    def begin_of_changed(self, query: Query, row: StateRow) -> datetime | None:
        """Return from when on a changed query counts.

        Raises QueryChanged where the model does not say that it may go on.
        """
        config: ContinuousConfig = self.model.config.own
        model = self.model
        rule, begin = config.on_query_change, config.begin
        if rule == "refresh":
            return begin
        found = other_columns(row.after.canonical, query)
        if found is not None:
            refuse_changed_columns(model, found, row, query)
            if not (found.new or found.gone):
                # In another order: rows are inserted by the columns' names.
                return begins(row).begin
        elif rule == "fail":
            raise query_changed(model, row.after.canonical, query)
        return row.after.t if begin is None or begin < row.after.t else begin

    def crashed(self, row: StateRow) -> Plan:
        """Plan the crashed run once more, as it was; close it where that is impossible."""
        config: ContinuousConfig = self.model.config.own
        query = self.query_of_crashed(row)
        if query is None:
            return CloseRun(self.model, row)
        planned = self.appending(query, row, reshape=True)
        if planned is not None:
            return planned
        return self.creation(self.query(self.model.sql, config.begin))

    def query_of_crashed(self, row: StateRow) -> Query | None:
        """Return the query of a run that crashed, as it was.

        None where its sources can no longer be read, where today's expectations are about columns
        that it did not have, and fit the query of today, or where it would be executed under other
        settings: nothing of the run has landed, so its window can be run anew.
        """
        model, invocation, complete = self.model, self.invocation, self.standing.complete_history
        if grown_otherwise(row.after.canonical, invocation.settings):
            if complete:
                return None
            refuse_grown_otherwise(model, row.after.canonical, invocation.settings)
        pins = AsRead(invocation.pins, row.after.pins)
        try:
            return self.query(row.after.canonical, begins(row).begin, pins)
        except (ConfigurationError, SourceHistoryGone) as error:
            if complete and isinstance(error, SourceHistoryGone):
                return None
            if not complete or not model.config.expectations:
                raise
            self.query(model.sql, begins(row).begin)
            return None

    def creation(self, query: Query) -> Planned:
        """Plan the first run of a new generation."""
        return creation(self, query)

    def appending(self, query: Query, row: StateRow, reshape: bool) -> Planned | None:
        """Plan run ``row``, whether new or crashed; None where a source requires a creation."""
        return appending(self, query, row, reshape)

    def following(self, query: Query, last: StateRow, begin: datetime | None) -> Decided:
        """Plan the run after the last one that landed, or nothing."""
        config: ContinuousConfig = self.model.config.own
        session, model, invocation = self.session, self.model, self.invocation
        limits, warnings = horizons(session, invocation, query.relations.tables)
        end = window_end(invocation.clock, config.lag, last.after.t, limits)
        if end.t is None:
            return Nothing(model, last.after.t, Told((*warnings, *end.warnings)))
        if late := query.relations.behind(session, last.after.pins):
            return Nothing(model, last.after.t, Told((*warnings, *late)))
        changed = not same_query(last.after.canonical, query.canonical)
        looked = invocation.recall.looked(last)
        if not (changed or self.standing.accepted) and query.pins == looked.after.pins:
            due = self.due_by_time(query, looked)
            if due is None or due > end.t:
                return Nothing(model, end.t, Told(warnings))
        own = replace(begins(last), begin=begin).own
        after = Position(end.t, query.pins, query.canonical, own)
        row = following_row(model, last, self.standing, after)
        if changed:
            refuse_read_otherwise(session, model, query)
        planned = self.appending(query, row, reshape=changed)
        if planned is None:
            return self.creation(self.query(model.sql, config.begin))
        return bounded(planned, invocation.clock, query, (limits, warnings))

    def due_by_time(self, query: Query, last: StateRow) -> datetime | None:
        """Return the first instant after the last run at which time alone may bring an answer.

        None: never. It depends on that run and the configuration only, so it is asked for once.
        """
        invocation, key = self.invocation, f"{seal_of(last)} {self.model.config!r}"
        quiet, due = invocation.recall.quiet, None
        if quiet.known(key):
            return quiet.until(key)
        query, scans = as_read_by(self.session, self.model, invocation, query, last)
        bounds = query.rewriting.bounds(last.after.t, last.after.t, scans)
        if bounds:
            listed = ", ".join(f"({bound})" for bound in bounds)
            ((least,),) = self.session.rows(f"SELECT unix_micros(array_min(array({listed})))")
            # Beyond the year 9999 the passing of time brings nothing: no run gets there.
            due = None if least is None else from_micros(int(least))
        quiet.note(key, due)
        return due
