"""Does a memory hold what it should? Compared with its sources, whole: ``tapestry verify``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tapestry.quoting import Sql, identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.joined import WantedJoin, all_pairs
from tapestry.runs.memories.look import AnyWish, in_source
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.sources.contents import content_hash
from tapestry.runs.sources.describe import REMEMBERED_ID
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class ComparedMemory:
    """What a run would read in the place of a source, or of two, beside what these hold.

    alias, source, memory
        As in ``MemoryUse``.
    rows, wanted_rows
        How many with an arrival are read, and how many there should be.
    equal
        Are they the same bag of rows, as far as their number and a sum of hashes tell?
    """

    alias: str
    source: str
    memory: str
    rows: int
    wanted_rows: int
    equal: bool


def compare(session: Session, wishes: Iterable[AnyWish]) -> tuple[ComparedMemory, ...]:
    """The memories that a run would read, each with what came in since, against their sources."""
    found: list[ComparedMemory] = []
    for wish in wishes:
        wanted = wish.wanted
        if not wish.found.relation:
            continue
        if isinstance(wanted, WantedJoin):
            columns, truth = _of_pair(wanted), f"({all_pairs(session, wanted, alone=True)})"
            seen = _seen_pair(wanted)
        else:
            assert isinstance(wanted, Wanted)  # there are no others
            columns, truth = _of_row(wanted), in_source(wanted, wanted.pin.version)
            seen = _seen(wanted.arrival)
        mine = _summed(session, f"{wish.found.relation} WHERE {seen}", columns)
        right = _summed(session, f"{truth} WHERE {seen}", columns)
        alias, source, _ = wish.told
        found.append(ComparedMemory(alias, source, wanted.name, mine[0], right[0], mine == right))
    return tuple(found)


def _seen(arrival: Column) -> Sql:
    """A row without an arrival is never visible: what came in since is read without those."""
    return Sql(f"{identifier(arrival.name)} IS NOT NULL")


def _seen_pair(wanted: WantedJoin) -> Sql:
    return Sql(" AND ".join(_seen(one.arrival_beside(side)) for side, one in wanted.sides))


def _of_row(wanted: Wanted) -> tuple[Column, ...]:
    """The columns by which rows are compared; with the id that Delta keeps of a row."""
    ids = (Column(REMEMBERED_ID, "string"),) if wanted.table.row_tracking else ()
    return (*wanted.table.columns, *ids)


def _of_pair(wanted: WantedJoin) -> tuple[Column, ...]:
    return tuple(
        replace(column, name=side + column.name)
        for side, one in wanted.sides
        for column in _of_row(one)
    )


def _summed(session: Session, relation: str, columns: Sequence[Column]) -> tuple[int, int]:
    """The number of rows, and the sum of their hashes: equal bags have the same."""
    one = f"CAST(xxhash64({content_hash(columns)}) AS DECIMAL(38, 0))"
    ((rows, total),) = session.rows(f"SELECT count(*), coalesce(sum({one}), 0) FROM {relation}")
    return int(rows), int(total)
