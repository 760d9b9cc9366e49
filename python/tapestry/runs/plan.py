"""What one run of one model will do, decided before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import uuid4

from tapestry.errors import QueryChanged, Refusal
from tapestry.names import MATCHED_AT
from tapestry.runs.clock import far_ahead, window_end
from tapestry.runs.commit import append_sql, closing_sql, create_sql
from tapestry.runs.horizons import horizons
from tapestry.runs.instants import show
from tapestry.runs.invocation import Invocation
from tapestry.runs.model import Model
from tapestry.runs.narrow import few_rows
from tapestry.runs.relations import Relations, plain, read_relations
from tapestry.runs.schema_change import columns_of, reconcile
from tapestry.runs.session import Session
from tapestry.runs.sources.examine import Examination, examine
from tapestry.runs.sources.literals import from_micros
from tapestry.runs.sources.pins import Pin
from tapestry.runs.standing import Standing, stand
from tapestry.runs.state import StateRow
from tapestry.runs.target import EMPTY_GENERATION
from tapestry.sql import Rewriting, Scan, Window, rewrite

Action = Literal["create", "append", "nothing"]


@dataclass(frozen=True)
class Plan:
    """One run: ``row`` is claimed, ``before`` executed, ``checks`` count 0, ``main`` commits.

    row
        None where there is nothing to do.
    checks
        What the author assumes, each with a SELECT of the number of cases that break it.
    select
        Q^I alone: what people read.
    t
        The instant up to which the target's answers are complete when the run is over.
    again
        A run that crashed is executed once more: it is claimed already. ``complete_history``: the
        target's log can still tell whether it has landed.
    warm
        Planned from what this process remembers of the state (see ``Standing``).
    """

    action: Action
    model: Model
    t: datetime | None
    row: StateRow | None = None
    before: tuple[str, ...] = ()
    main: str = ""
    checks: tuple[tuple[str, str], ...] = ()
    select: str = ""
    warnings: tuple[str, ...] = ()
    strategy: str = ""
    late_rows: int = 0
    null_rows: int = 0
    again: bool = False
    warm: bool = False
    complete_history: bool = True


@dataclass(frozen=True)
class Query:
    """The current query of a model, rewritten over what it reads now."""

    rewriting: Rewriting
    relations: Relations
    canonical: str

    @property
    def pins(self) -> dict[str, Pin]:
        """This invocation's pin of every table that the query reads."""
        return {name: self.relations.tables[name].pin for name in self.rewriting.sources}

    @property
    def commits(self) -> list[datetime]:
        """When the tables that the query reads had their newest commits, as far as is known."""
        tables = [self.relations.tables[name].table for name in self.rewriting.sources]
        return [table.changed for table in tables if table.changed is not None]

    @property
    def sizes(self) -> list[int]:
        """Bytes of the tables that the query reads."""
        return [self.relations.tables[name].table.size for name in self.rewriting.sources]


def read_query(
    session: Session, model: Model, invocation: Invocation, sql: str, begin: datetime | None
) -> Query:
    """Rewrite a query over the tables and views as they are now.

    Raises Refusal for a query that cannot be kept exactly.
    """
    relations = read_relations(session, sql, model, invocation.pins, invocation.time_zone)
    catalog = relations.catalog
    known = tuple(sorted(catalog.relations.items(), key=lambda item: item[0]))
    key = (sql, known, catalog.time_zone, begin, model.config.assume)
    rewriting = invocation.memory.rewriting(key)
    if rewriting is None:
        rewriting = rewrite(sql, catalog, assume=model.config.assume, begin=begin)
        invocation.memory.note_rewriting(key, rewriting)
    if MATCHED_AT in (column.lower() for column in rewriting.columns):
        raise Refusal(
            f"the select list has a column {MATCHED_AT}, which every continuous model adds itself",
            where=model.file,
            hint=f"over another continuous model write select * except ({MATCHED_AT}), or list the"
            f" columns and rename it: {MATCHED_AT} as seen_at",
        )
    arrivals = (f"{n}: {relations.arrival(n) or 'static'}" for n in sorted(rewriting.sources))
    canonical = "\n".join([rewriting.canonical, *(f"-- arrival of {text}" for text in arrivals)])
    if model.config.begin is not None:
        canonical += f"\n-- begin {show(model.config.begin)}"
    return Query(rewriting, relations, canonical)


def plan(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Plan:
    """Decide; writes nothing. A crashed run is planned again as it was (``Plan.again``).

    Raises one of the errors of ``tapestry.errors``.
    """
    standing = stand(session, model, invocation, full_refresh)
    row, configured = standing.row, model.config.begin
    if row is None:
        query = read_query(session, model, invocation, model.sql, configured)
        return _creation(session, model, invocation, standing, query)
    if standing.crashed:
        query = read_query(session, model, invocation, row.canonical, row.begin)
        planned = _appending(session, model, query, row, standing, reshape=True)
        if planned.action == "append":
            return planned
        query = read_query(session, model, invocation, model.sql, configured)
        return _creation(session, model, invocation, standing, query)
    query = read_query(session, model, invocation, model.sql, row.begin)
    changed = query.canonical != row.canonical
    rule = model.config.on_query_change
    if changed and rule == "fail":
        raise _query_changed(model, row, query)
    if changed:
        begin = row.t if rule == "continue" else configured
        query = read_query(session, model, invocation, model.sql, begin)
    if changed and rule == "refresh":
        return _creation(session, model, invocation, standing, query)
    return _next(session, model, invocation, standing, query, begin if changed else row.begin)


def _creation(
    session: Session, model: Model, invocation: Invocation, standing: Standing, query: Query
) -> Plan:
    """The first run of a new generation: all of Q_M(t)."""
    limits, warnings = horizons(session, invocation, query.relations.tables)
    end = window_end(invocation.clock, model.config.lag, None, limits)
    assert end.t is not None  # without a last run there is always a window
    row = StateRow(
        model=plain(model.relation),
        generation=uuid4().hex,
        n=1,
        run_id=uuid4().hex,
        tau=None,
        t=end.t,
        begin=model.config.begin,
        target_id="",
        target_version=standing.version,
        pins=query.pins,
        last_pins={},
        canonical=query.canonical,
        sql=model.sql,
    )
    found = _examine(session, model, query, row)
    window = Window(None, row.t)
    select = query.rewriting.incremental(window, _scans(found))
    old = standing.target.generation if standing.target is not None else None
    close: tuple[str, ...] = ()
    if old is not None and old != EMPTY_GENERATION:
        columns = len(columns_of(session, row.model))
        close = (closing_sql(row.model, columns, old, row.run_id),)
    return Plan(
        "create",
        model,
        row.t,
        row,
        before=close,
        main=create_sql(model, row.generation, select, replace=standing.target is not None),
        checks=query.rewriting.assumption_checks(window, _scans(found)),
        select=select,
        strategy=query.rewriting.strategy,
        late_rows=sum(e.late_rows for e in found.values()),
        null_rows=sum(e.null_rows for e in found.values()),
        warnings=(*warnings, *_warnings(found), *far_ahead(invocation.clock, row.t, query.commits)),
    )


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
    if query.canonical == last.canonical and query.pins == last.pins:
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
    )
    planned = _appending(
        session, model, query, row, standing, reshape=query.canonical != last.canonical
    )
    if planned.action == "create":
        query = read_query(session, model, invocation, model.sql, model.config.begin)
        return _creation(session, model, invocation, standing, query)
    far = far_ahead(invocation.clock, row.t, query.commits)
    return replace(planned, warnings=(*warnings, *planned.warnings, *far))


def _appending(
    session: Session, model: Model, query: Query, row: StateRow, standing: Standing, reshape: bool
) -> Plan:
    """Run ``row``, whether new or crashed; ``action`` is create where a source asks for that."""
    found = _examine(session, model, query, row)
    if any(e.refresh for e in found.values()):
        return Plan("create", model, row.t)
    window, scans = Window(row.tau, row.t), _scans(found)
    few = few_rows(session, query.rewriting, window, scans, query.sizes)
    select = query.rewriting.incremental(window, scans, few=few)
    columns: tuple[str, ...] = (*query.rewriting.columns, MATCHED_AT)
    before: tuple[str, ...] = ()
    chosen = select
    if reshape:
        columns, before, chosen = reconcile(session, model, columns, select)
    return Plan(
        "append",
        model,
        row.t,
        row,
        before=(*before, *(text for e in found.values() for text in e.before)),
        main=append_sql(row, columns, chosen),
        checks=query.rewriting.assumption_checks(window, scans),
        select=select,
        strategy=query.rewriting.strategy,
        late_rows=sum(e.late_rows for e in found.values()),
        null_rows=sum(e.null_rows for e in found.values()),
        warnings=_warnings(found),
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
    found = _examine(
        session, model, query, replace(last, n=last.n + 1, tau=last.t, last_pins=last.pins)
    )
    bounds = query.rewriting.bounds(last.t, last.t, _scans(found))
    if bounds:
        listed = ", ".join(f"({bound})" for bound in bounds)
        ((least,),) = session.rows(f"SELECT unix_micros(array_min(array({listed})))")
        due = None if least is None else from_micros(int(least))
    invocation.memory.note_quiet(key, due)
    return due


def _examine(session: Session, model: Model, query: Query, row: StateRow) -> dict[str, Examination]:
    """What happened to each source between the pins of the run before and those of ``row``."""
    return {
        name: examine(
            session,
            query.relations.tables[name].table,
            arrival=query.relations.arrival(name),
            last_pin=row.last_pins.get(name),
            pin=row.pins[name],
            tau=row.tau,
            config=model.config,
            target=row.model,
            generation=row.generation,
            n=row.n,
        )
        for name in query.rewriting.sources
    }


def _scans(found: Mapping[str, Examination]) -> dict[str, Scan]:
    return {name: examination.scan for name, examination in found.items()}


def _warnings(found: Mapping[str, Examination]) -> tuple[str, ...]:
    return tuple(warning for e in found.values() for warning in e.warnings)


def _query_changed(model: Model, row: StateRow, query: Query) -> QueryChanged:
    """The error shows the first lines that differ."""
    lines = difflib.unified_diff(
        row.canonical.splitlines(), query.canonical.splitlines(), lineterm="", n=0
    )
    changes = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    shown = " ".join(f"{line[0]} {' '.join(line[1:].split())}" for line in changes[:4])
    return QueryChanged(
        f"{model.name} is not the query that its table was grown with: {shown[:300]}",
        where=model.file,
        hint="on_query_change: continue (new text from now on) or refresh (all of history again),"
        " or run with --full-refresh",
    )
