"""Previews what the next run of a model would read, without running or writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from tapestry.errors import TapestryError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.notes import as_spark_reads, of_changed, scans_of_next_run
from tapestry.runs.kinds.continuous.after.plain_statement import joins_of, plain_statement
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.known.group_states import keeps_groups
from tapestry.runs.kinds.continuous.known.published_rows import answers_of
from tapestry.runs.kinds.continuous.query import Query, read_query
from tapestry.runs.kinds.continuous.window.question import refuse_own_names, said_of
from tapestry.runs.memories.ask import Asking, Untimely, ask_memories
from tapestry.runs.memories.tell import MemoryUse, memory_uses
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.query.relations import plain
from tapestry.runs.query.settings import same_query
from tapestry.runs.tables.beside_target import GROUPS, groups_of
from tapestry.sql import Scan, Window
from tapestry.sql.look.source_reads import Joined, Reading, readings

A_DAY = timedelta(days=1)
KEPT = "says what groups have at the begin of the window: no history is read, as below, for that"


@dataclass(frozen=True)
class Preview:
    """A model's query over its sources as they are now, and the window of its next run.

    supposed
        The model has not run yet: the window is one day, to show what a later run reads.
    """

    query: Query
    window: Window
    supposed: bool
    scans: Mapping[str, Scan]
    readings: tuple[Reading, ...]
    notes: tuple[str, ...] = ()
    memories: tuple[MemoryUse, ...] = ()
    joins: tuple[Joined, ...] = ()


def preview(session: Session, model: Model, invocation: Invocation, stored: bool = True) -> Preview:
    """Preview the next run of ``model``; ``stored``: it has a table, or will have one.

    Raises Refusal for a query that cannot be kept exactly, ConfigurationError for one that its runs
    could not verify. Other errors and warnings of the run stand in ``notes``.
    """
    config = model.config.own
    standing, notes = Standing(None, None), []
    if stored:
        try:
            standing = stand(session, model, invocation, refresh=False)
        except TapestryError as error:
            notes.append(f"the next run would stop: {error.reason}")
    row = standing.row
    begin = begins(row).begin if row is not None else config.begin
    query = read_query(session, model, invocation, model.sql, begin)
    if row is not None and not same_query(row.after.canonical, query.canonical):
        notes += of_changed(session, model, invocation, query, row)
    t = invocation.clock.t(config.lag)
    tau = None if row is None else (row.since if standing.crashed else row.after.t)
    if tau is not None and tau >= t:
        notes.append("the last run went further than this: shown is the window of one day after it")
        t = tau + A_DAY
    window = Window(tau or t - A_DAY, t)
    scans = scans_of_next_run(session, query, row, notes)
    if stored:
        refuse_own_names(model, query)
        notes += said_of(model, query)
    if row is not None and groups_of(row) is not None and keeps_groups(model, query):
        notes.append(f"{GROUPS.table_of(model.relation)} {KEPT}")
    known = None
    if query.rewriting.asks_known:
        relation = plain(model.relation) if row is not None else ""
        known = answers_of(session, relation, query.rewriting.values)
    select = query.rewriting.incremental(window, scans, known=known)
    notes += as_spark_reads(session, model, query, select)
    found = readings(plain_statement(query.rewriting, window, scans), scans)
    late = frozenset(name for name, scan in scans.items() if scan.late)
    asking = Asking(session, model, invocation, query, window, later=begin != config.begin)
    requests = ask_memories(asking, Untimely(late)) if stored else ()
    return Preview(
        query,
        window,
        tau is None,
        scans,
        found,
        tuple(notes),
        memory_uses(session, requests),
        joins_of(query.rewriting, window, scans, [w for w in requests if w.pair is None]),
    )
