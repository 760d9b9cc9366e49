"""What the next run of a model would read, looked at without running or writing anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from tapestry.errors import TapestryError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.changed_query import notes_of_changed
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.known.group_states import keeps_groups
from tapestry.runs.kinds.continuous.known.published_rows import answers_of
from tapestry.runs.kinds.continuous.late.scans import SourceReading
from tapestry.runs.kinds.continuous.late.side import Side, read_side, side_name
from tapestry.runs.kinds.continuous.query import Query, read_query
from tapestry.runs.kinds.continuous.window.question import refuse_own_names, said_of
from tapestry.runs.memories.ask import Asking, MemoryRequest, Untimely, ask_memories
from tapestry.runs.memories.tell import MemoryUse, memory_uses
from tapestry.runs.model.model import Model
from tapestry.runs.query.refuse_read_apart import planned_as_read
from tapestry.runs.query.relations import plain
from tapestry.runs.query.settings import same_query
from tapestry.runs.query.spark_reads import refuse_other_columns
from tapestry.runs.run.standing import Standing, stand
from tapestry.runs.sources.describe import arrival_column
from tapestry.runs.sources.scans import plain_scan
from tapestry.runs.tables.beside_target import GROUPS, groups_of
from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.look.join_orders import Joined, join_orders
from tapestry.sql.look.source_reads import Reading, readings
from tapestry.sql.scan import KnownAnswers

A_DAY = timedelta(days=1)
KEPT = "says what groups have at the begin of the window: no history is read, as below, for that"
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_RELATION = re.compile(r"Relation [^\n]*Statistics\(sizeInBytes=([\d.]+) (\w+)")


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


@dataclass(frozen=True)
class Cost:
    """What a scan reads after file statistics have excluded what they can.

    files
        None where the connection does not tell (thrift).
    """

    size: int
    files: int | None


def preview(session: Session, model: Model, invocation: Invocation, stored: bool = True) -> Preview:
    """Look at the next run of ``model``; ``stored``: it has a table, or will have one.

    Raises Refusal for a query that cannot be kept exactly, ConfigurationError for one that its runs
    could not verify. What else would stop a run, or what it would warn of, is told in ``notes``.
    """
    standing, notes = Standing(None, None), []
    if stored:
        try:
            standing = stand(session, model, invocation, refresh=False)
        except TapestryError as error:
            notes.append(f"the next run would stop: {error.reason}")
    row = standing.row
    begin = begins(row).begin if row is not None else model.config.begin
    query = read_query(session, model, invocation, model.sql, begin)
    if row is not None and not same_query(row.after.canonical, query.canonical):
        notes += notes_of_changed(session, model, invocation, query, row)
    t = invocation.clock.t(model.config.lag)
    tau = None if row is None else (row.since if standing.crashed else row.after.t)
    if tau is not None and tau >= t:
        notes.append("the last run went further than this: shown is the window of one day after it")
        t = tau + A_DAY
    window = Window(tau or t - A_DAY, t)
    scans = {name: _scan(session, query, name, standing, notes) for name in query.rewriting.sources}
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
    notes += _as_spark_reads(session, model, query, select)
    found = readings(plain_statement(query.rewriting, window, scans), scans)
    late = frozenset(name for name, scan in scans.items() if scan.late)
    asking = Asking(session, model, invocation, query, window)
    requests = ask_memories(asking, Untimely(late)) if stored else ()
    return Preview(
        query,
        window,
        tau is None,
        scans,
        found,
        tuple(notes),
        memory_uses(session, requests),
        _joins(query.rewriting, window, scans, [w for w in requests if w.pair is None]),
    )


def _joins(
    rewriting: Rewriting,
    window: Window,
    scans: Mapping[str, Scan],
    requests: Iterable[MemoryRequest],
) -> tuple[Joined, ...]:
    """In which order the run joins its tables: of a memory it is its own size that counts."""
    apart = {
        request.use.alias: replace(scans[request.use.source], size=request.found.kept.size)
        for request in requests
        if request.found.relation and request.found.kept is not None
    }
    decided = plain_statement(rewriting.reading(apart), window, scans)
    unsized = {name: replace(scan, size=0) for name, scan in scans.items()}
    undecided = plain_statement(rewriting.joining(()), window, unsized)
    tables = all_tables(rewriting.parts)
    named = {one.alias for one in rewriting.joins.first(tables)}
    return join_orders(decided, undecided, named)


def _as_spark_reads(session: Session, model: Model, query: Query, select: str) -> list[str]:
    """What a first run asks of Spark before it reads data; raises Refusal where that refuses."""
    refuse_other_columns(session, model, query, select)
    if planned_as_read(session, query) is False:
        return ["Spark plans the query otherwise than it was read: a first run compares their rows"]
    return []


def plain_statement(rewriting: Rewriting, window: Window, scans: Mapping[str, Scan]) -> str:
    """The run's statement over sources that go by their bare names."""
    bare = {name: _bare(name, scan) for name, scan in scans.items()}
    apart = {alias: _bare(alias, scan) for alias, scan in rewriting.apart.items()}
    known = KnownAnswers("known_answers")
    return rewriting.reading(apart).incremental(window, bare, known=known)


def _bare(name: str, scan: Scan) -> Scan:
    # sql: rendered to be read again, never run
    return Scan(name, scan.arrival, "row_id", scan.late, size=scan.size, since=scan.since)


def cost(session: Session, preview: Preview, source: str, predicate: str) -> Cost:
    """What reading the rows of a source that satisfy a predicate ('': all) costs now.

    Spark plans the scan and reads no data: Delta puts the size of the files that are left into the
    plan's statistics.
    """
    scan, pinned = preview.scans[source], preview.query.relations.tables[source]
    relation = scan.relation if scan.late else pinned.table.at(pinned.pin.version)
    sql = f"SELECT * FROM {relation}" + (f" WHERE {predicate}" if predicate else "")
    ((plan, *_),) = session.rows(f"EXPLAIN COST {sql}")
    return Cost(size_in(str(plan)), session.can.input_files(sql))


def size_in(plan: str) -> int:
    """The bytes that the optimized plan of an EXPLAIN COST reads.

    >>> size_in("Filter …\\n+- Relation db.m[id#1] parquet, Statistics(sizeInBytes=33.5 KiB)\\n")
    34304
    """
    optimized = plan.partition("== Physical Plan ==")[0]
    found = _RELATION.findall(optimized)
    return sum(int(float(number) * _SIZES.get(unit, 1)) for number, unit in found)


def _scan(session: Session, query: Query, name: str, standing: Standing, notes: list[str]) -> Scan:
    """How the next run would read a source, without looking for rows that came late since."""
    arrival, pinned = query.relations.arrival(name), query.relations.tables[name]
    if arrival is None:
        return plain_scan(pinned.table, pinned.pin, None)
    column, row = arrival_column(pinned.table, arrival), standing.row
    scan = plain_scan(pinned.table, pinned.pin, column)
    if row is not None:
        side = Side(side_name(row.model, pinned.table.name), row.generation, row.n + 1, row.run_id)
        side = read_side(session, side, row.after.pins.get(name), pinned.table.columns)
        if side.gone:
            notes.append(f"runs read rows of {name} that were deleted, too, each up to its end")
        if side.live:
            scan = SourceReading(pinned.pin, column, side).with_late(pinned.table)
        return replace(scan, since=begins(row).began)
    return scan
