"""The statement of a run over the bare names of its sources, and the order of its joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tapestry.runs.memories.ask import MemoryRequest
from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.look.source_reads import Joined, join_orders
from tapestry.sql.scan import KnownAnswers


def joins_of(
    rewriting: Rewriting,
    window: Window,
    scans: Mapping[str, Scan],
    requests: Iterable[MemoryRequest],
) -> tuple[Joined, ...]:
    """Return the order in which the run joins its tables; a memory counts by its own size."""
    apart = {
        request.use.alias: replace(scans[request.use.source], size=request.found.kept.size)
        for request in requests
        if request.found.relation and request.found.kept is not None
    }
    decided = plain_statement(rewriting.reading(apart), window, scans)
    unsized = {name: replace(scan, size=0) for name, scan in scans.items()}
    undecided = plain_statement(rewriting.joining(()), window, unsized)
    tables = all_tables(rewriting.arms)
    named = {one.alias for one in rewriting.how_read.joins.first(tables)}
    return join_orders(decided, undecided, named)


def plain_statement(rewriting: Rewriting, window: Window, scans: Mapping[str, Scan]) -> str:
    """Return the run's statement over the bare names of its sources."""
    bare = {name: _bare(name, scan) for name, scan in scans.items()}
    apart = {alias: _bare(alias, scan) for alias, scan in rewriting.how_read.apart.items()}
    known = KnownAnswers("known_answers")
    return rewriting.reading(apart).incremental(window, bare, known=known)


def _bare(name: str, scan: Scan) -> Scan:
    # sql: rendered to be read again, never run
    return Scan(name, scan.arrival, "row_id", scan.late, size=scan.size, since=scan.since)
