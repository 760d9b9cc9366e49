"""Finds replacements of sources at their pins: a memory, and the rows that came since.

A stored join is extended by new rows: at later versions it has, besides its stored pairs,

    new rows of S1 joined with all of S2, and old rows of S1 joined with new rows of S2.

The rows of either side are those of its own memory, so that only few are joined.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from tapestry.errors import SourceHistoryGone
from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.memories import reasons
from tapestry.runs.memories.definition import At, MemoryDefinition, arrival_beside, names_beside
from tapestry.runs.memories.log import MemoryLog
from tapestry.runs.memories.state import Cover, MemoryState, look_at
from tapestry.runs.sources.added_since import added_since, remembered_columns
from tapestry.runs.sources.describe import OWN_PREFIX, REMEMBERED_ID, arrival_sql
from tapestry.runs.sources.scans import row_id
from tapestry.sql.scan import LEFT, RIGHT, JoinScan

logger = logging.getLogger(__name__)

NEW = f"{OWN_PREFIX}new"
"""Came a row in after what is held?"""
FEW = 32 * 2**20
"""Bytes that are new in a source up to which Spark is told to send them to every task."""


@dataclass(frozen=True)
class InPlace:
    """A relation that a run reads in the place of a source; "" where it reads the source.

    reason
        Why it reads the source.
    main, new
        SELECTs that the relation is made of: the memory's rows at ``since``, a version of the
        source, and the rows that came after that ("": none).
    view
        The view that holds ``new`` in memory, "" where none does.
    """

    relation: str = ""
    reason: str = ""
    kept: MemoryState | None = None
    main: str = ""
    new: str = ""
    since: Cover | None = None
    view: str = ""

    def new_bytes(self, at: At) -> float:
        """Return about how many bytes of a memory the new rows would be, for sources as ``at``."""
        if self.kept is None or self.since is None:
            return 0.0
        return self.kept.bytes_since(self.since, at)


def find(session: Session, wanted: MemoryDefinition, log: MemoryLog) -> InPlace:
    """Return the replacement of the sources at their pins.

    A memory whose contents are doubtful is not read: ``InPlace.reason`` says why.
    """
    try:
        kept = look_at(session, wanted.name)
        if isinstance(kept, str):
            return InPlace(reason=kept)
        doubt = _doubt(session, wanted, kept, log)
        if doubt:
            return InPlace(reason=doubt)
        cover = kept.held_by(wanted.read_at)
        new = reasons.NEWER if cover is None else new_rows(session, wanted, cover.held, log)
        if cover is None or isinstance(new, str):
            return InPlace(reason=str(new), kept=kept)
        main = kept.held_rows(wanted, cover)
        relation = f"({' UNION ALL '.join([main, *new])})"
        return InPlace(relation, kept=kept, main=main, new=" UNION ALL ".join(new), since=cover)
    except Exception as error:
        logger.debug("the memory %s cannot be read: %s", wanted.name, error)
        return InPlace(reason=reasons.UNREADABLE)


def _doubt(session: Session, wanted: MemoryDefinition, kept: MemoryState, log: MemoryLog) -> str:
    """Return why a table is not trusted to be the memory that it claims; "": a run recorded it."""
    try:
        known = log.has(session, wanted.signature, kept.identity)
    except Exception as error:
        logger.warning("what runs recorded of memories cannot be read: %s", error)
        return reasons.RECORDS_UNREAD
    return "" if known else reasons.UNRECORDED


def new_rows(
    session: Session, wanted: MemoryDefinition, held: At, log: MemoryLog, anyway: bool = False
) -> tuple[str, ...] | str:
    """Return SELECTs of the rows that came after these versions; a text says why not.

    ``anyway``: the old rows of a side are read from its source where its memory does not have them.
    """
    came: list[tuple[str, ...]] = []
    for one, (version, _) in zip(wanted.apart, held, strict=True):
        new = _added(session, one, version)
        if new is None:
            return reasons.NOT_APPENDED_ONLY
        came.append(new)
    if len(came) == 1 or not any(came):
        return came[0]
    rows: list[_Rows] = []
    for one, new, (version, _) in zip(wanted.apart, came, held, strict=True):
        before = replace(one, sides=(one.side.at(version),))
        old = find(session, before, log).relation
        if not old and not anyway:
            return reasons.SIDE_UNREAD
        rows.append(_Rows(one, old or in_source(before), new))
    return tuple(_new_pairs(wanted, (rows[0], rows[1]), held))


def all_rows(session: Session, wanted: MemoryDefinition, log: MemoryLog | None = None) -> str:
    """Return a query of its rows in the sources at their pins; without ``log``, of no memory."""
    if len(wanted.sides) == 1:
        return f"SELECT * FROM {in_source(wanted)}"
    rows = []
    for one in wanted.apart:
        there = "" if log is None else find(session, one, log).relation
        rows.append(_Rows(one, there or in_source(one)))
    return _pairs(wanted, (rows[0], rows[1]), "true")


def in_source(wanted: MemoryDefinition) -> str:
    """Return the rows of a memory with one side as the source itself has them at its pin."""
    table, version = wanted.side.table, wanted.side.pin.version
    rows = f"SELECT {remembered_columns(table)} FROM {table.at(version)} AS _tap_s"
    return f"(SELECT * FROM ({rows}) WHERE {wanted.where})"


def _added(session: Session, wanted: MemoryDefinition, after: int) -> tuple[str, ...] | None:
    """Return SELECTs of the wanted rows that came after a version; None: they are unknown."""
    side = wanted.side
    if after == side.pin.version:
        return ()
    try:
        added = added_since(session, side.table, after, side.pin.version, side.arrival)
    except SourceHistoryGone:
        return None
    if added is None:
        return None
    return tuple(f"SELECT * FROM ({one}) WHERE {wanted.where}" for one in added)


@dataclass(frozen=True)
class _Rows:
    """The rows of one side: a relation of stored rows, and SELECTs of those that came since."""

    wanted: MemoryDefinition
    old: str
    new: tuple[str, ...] = ()

    def beside(self, prefix: str) -> str:
        """Return a query: all rows under the pair's column names, each with its id, and ``NEW``."""
        side, listed = self.wanted.side, self.wanted.copied
        arms = [f"SELECT {listed}, false AS {NEW} FROM {self.old}"]
        arms += [f"SELECT {listed}, true AS {NEW} FROM ({one})" for one in self.new]
        rows = " UNION ALL ".join(arms)
        # Equal rows are numbered as they came in, so that what is held keeps its numbers.
        known = replace(side.table, remembered=rows)
        names = [identifier(column.name) for column in side.table.columns]
        own = ", ".join(
            f"{name} AS {identifier(flat)}"
            for name, flat in zip(
                [*names, row_id(known, first=NEW)], names_beside(prefix, side), strict=True
            )
        )
        return f"SELECT {own}, {NEW} AS {identifier(prefix + NEW)} FROM ({rows})"


def _new_pairs(wanted: MemoryDefinition, rows: tuple[_Rows, _Rows], held: At) -> list[str]:
    """Return SELECTs of the pairs one row of which is new."""
    few = [now - then <= FEW for (_, now), (_, then) in zip(wanted.read_at, held, strict=True)]
    left, right = (identifier(side + NEW) for side in (LEFT, RIGHT))
    arms = []
    if rows[0].new:
        arms.append(_pairs(wanted, rows, left, LEFT if few[0] else ""))
    if rows[1].new:
        arms.append(_pairs(wanted, rows, f"NOT {left} AND {right}", RIGHT if few[1] else ""))
    return arms


def _pairs(wanted: MemoryDefinition, rows: tuple[_Rows, _Rows], which: str, few: str = "") -> str:
    """Return the wanted pairs of these rows that satisfy ``which``."""
    hint = f"/*+ BROADCAST(_tap_{few}s) */ " if few else ""
    return (
        f"SELECT {hint}{wanted.copied} FROM ({rows[0].beside(LEFT)}) AS _tap_{LEFT}s"
        f" CROSS JOIN ({rows[1].beside(RIGHT)}) AS _tap_{RIGHT}s"
        f" WHERE {wanted.where} AND {which}"
    )


def scan_of_join(wanted: MemoryDefinition, relation: str) -> JoinScan:
    """Return the scan of a stored join, if no row of either source came late, or has ended."""
    first, second = (arrival_sql(arrival_beside(*side)) for side in wanted.placed)
    return JoinScan(relation, (first, second), ids_of_pair())


def ids_of_pair() -> tuple[str, str]:
    """Return the ids of both rows of a pair."""
    return identifier(LEFT + REMEMBERED_ID), identifier(RIGHT + REMEMBERED_ID)
