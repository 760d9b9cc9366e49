"""Writes a memory: one statement builds it, or adds the rows that came since.

A build is one CREATE OR REPLACE TABLE, a flush one INSERT under Delta's transaction (generation,
n): a killed process leaves the memory as it was or as it is to be. Of two processes that flush at
once one lands, for both write n; the other is skipped. A flush of a generation that was replaced
meanwhile fails, for the table lacks its column (``mark_of``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from uuid import uuid4

from tapestry.names import GENERATION_PROPERTY, MEMORY_PROPERTY
from tapestry.quoting import properties, relation_name, token
from tapestry.runs.engine.errors_of_delta import lacks_column, lost_race
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.definition import MemoryDefinition
from tapestry.runs.memories.log import Deed
from tapestry.runs.memories.reasons import REASONS, UNRECORDED
from tapestry.runs.memories.state import MemoryState, covered, generation_of, look_at, mark_of
from tapestry.runs.memories.survey import FLUSH_COMMITS
from tapestry.runs.tables.target import metadata, transaction

logger = logging.getLogger(__name__)

MARK = "CAST(NULL AS BOOLEAN)"
"""The value of the column ``mark_of``."""
LOG_KEPT = "interval 36500 days"
"""The commit that built a memory says whose the later ones are."""
FLUSH_BYTES = 2**20
FLUSH_SHARE = 0.1
"""A memory takes in what came since once that is ``FLUSH_COMMITS`` commits of a source, or about
so many bytes, or such a share of its own."""


def due(wanted: MemoryDefinition, kept: MemoryState) -> bool:
    """Return whether reading the new rows each time costs more than adding them to the memory."""
    held = kept.newest.held
    versions = zip(wanted.read_at, held, strict=True)
    if any(now - then >= FLUSH_COMMITS for (now, _), (then, _) in versions):
        return True
    came = kept.bytes_since(kept.newest, wanted.read_at)
    return 0 < came >= min(FLUSH_BYTES, FLUSH_SHARE * kept.size)


def create(session: Session, wanted: MemoryDefinition, rows: str) -> Deed:
    """Make the memory of its sources at their pins in one statement, from the query ``rows``."""
    began = monotonic()
    generation = generation_of(wanted.read_at, uuid4().hex)
    said = {
        GENERATION_PROPERTY: generation,
        MEMORY_PROPERTY: wanted.told,
        "delta.logRetentionDuration": LOG_KEPT,
        **wanted.properties,
    }
    names = " and ".join(dict.fromkeys(side.table.name for side in wanted.sides))
    comment = f"tapestry: a copy of rows of {names}, to be deleted at any time"
    session.run(
        f"CREATE OR REPLACE TABLE {relation_name(wanted.name)} USING delta"
        f" COMMENT {token(comment)} TBLPROPERTIES ({properties(said)}) AS\n"
        f"SELECT /*+ REBALANCE */ {wanted.copied}, {MARK} AS {mark_of(generation)} FROM ({rows})"
    )
    seconds, built = monotonic() - began, look_at(session, wanted.name)
    # Another process may have built it anew meanwhile, and records that itself.
    if not isinstance(built, MemoryState) or built.generation != generation:
        return Deed("build", wanted, seconds)
    return Deed("build", wanted, seconds, identity=built.identity)


def append(
    session: Session, wanted: MemoryDefinition, kept: MemoryState, rows: Sequence[str]
) -> list[Deed]:
    """Add ``rows``, queries of new rows, once; nothing where another process has done so."""
    began = monotonic()
    n, until = kept.newest.n + 1, covered(wanted.read_at)
    said = metadata(kept.generation, n, "", {"t": until, "from": kept.newest.version})
    under = transaction(f"tapestry.memory.{kept.generation}", n, said)
    listed, mark = wanted.copied, mark_of(kept.generation)
    new = " UNION ALL ".join(rows)
    try:
        session.run(
            f"INSERT INTO {relation_name(wanted.name)} {under}"
            f" ({listed}, {mark})\nSELECT /*+ REBALANCE */ {listed}, {MARK} FROM ({new})"
        )
    except Exception as error:
        if not (lost_race(error) or lacks_column(error)):  # it was flushed, or built anew
            raise
        return []
    return [Deed("flush", wanted, monotonic() - began)]


def drop(session: Session, wanted: MemoryDefinition, reason: str) -> Deed:
    """Remove a memory with all of its history, which may hold rows that its source has lost."""
    began = monotonic()
    if reason == UNRECORDED:
        logger.warning("%s is dropped and built again: %s", wanted.name, REASONS[reason])
    session.run(f"DROP TABLE IF EXISTS {relation_name(wanted.name)}")
    return Deed("drop", wanted, monotonic() - began, reason)


def vacuum(session: Session, wanted: MemoryDefinition) -> None:
    """Remove the files that no memory of the last week had; a failure harms nothing."""
    try:
        session.run(f"VACUUM {relation_name(wanted.name)}")
    except Exception as error:
        logger.debug("old files of the memory %s were not removed: %s", wanted.name, error)
