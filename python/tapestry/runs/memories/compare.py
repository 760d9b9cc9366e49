"""Compares memories with their sources, whole: ``tapestry verify``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.memories.definition import arrival_beside
from tapestry.runs.memories.find import all_rows
from tapestry.runs.sources.contents import content_hash
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class ComparedMemory:
    """The rows that a run would read from a memory, compared with those of its sources.

    alias, source, memory
        As in ``MemoryUse``.
    rows, wanted_rows
        How many with an arrival are read, and how many there should be.
    equal
        Whether they are the same bag of rows, as far as their number and a sum of hashes tell.
    """

    alias: str
    source: str
    memory: str
    rows: int
    wanted_rows: int
    equal: bool


def compare(session: Session, requests: Iterable[MemoryRequest]) -> tuple[ComparedMemory, ...]:
    """Compare the memories that a run would read, each with its new rows, with their sources."""
    found: list[ComparedMemory] = []
    for request in requests:
        wanted = request.wanted
        if wanted is None or not request.found.relation:
            continue
        columns = [
            replace(column, name=prefix + column.name)
            for prefix, side in wanted.placed
            for column in side.columns
        ]
        # A row without an arrival is never visible: what came in since is read without those.
        arrivals = [identifier(arrival_beside(*side).name) for side in wanted.placed]
        seen = " AND ".join(f"{name} IS NOT NULL" for name in arrivals)
        mine = _summed(session, f"{request.found.relation} WHERE {seen}", columns)
        right = _summed(session, f"({all_rows(session, wanted)}) WHERE {seen}", columns)
        alias, source, _ = request.told
        found.append(ComparedMemory(alias, source, wanted.name, mine[0], right[0], mine == right))
    return tuple(found)


def _summed(session: Session, relation: str, columns: Sequence[Column]) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes: equal bags have the same."""
    one = f"CAST(xxhash64({content_hash(columns)}) AS DECIMAL(38, 0))"
    ((rows, total),) = session.rows(f"SELECT count(*), coalesce(sum({one}), 0) FROM {relation}")
    return int(rows), int(total)
