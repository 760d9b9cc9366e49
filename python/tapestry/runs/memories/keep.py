"""Build, bring up to date and drop memories, at the end of an invocation: no run waits for one.

A build is one CREATE OR REPLACE TABLE, a flush one INSERT under Delta's transaction (generation,
n): whoever is killed leaves the memory as it was or as it is to be. Of two processes that flush at
once one lands, for both write n; the other is skipped. A flush of a generation that was replaced
meanwhile fails, for the table lacks its column (``mark_of``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import monotonic
from uuid import uuid4

from tapestry.names import GENERATION_PROPERTY, MEMORY_PROPERTY
from tapestry.quoting import properties, relation_name, token
from tapestry.runs.engine.errors_of_delta import lacks_column, lost_race
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import Wish
from tapestry.runs.memories.choose import weigh
from tapestry.runs.memories.log import Deed, left_lately, write_deeds
from tapestry.runs.memories.look import (
    HeldMemory,
    covered,
    generation_of,
    look_at,
    mark_of,
    new_rows,
)
from tapestry.runs.memories.reasons import (
    FOREIGN_COMMIT,
    NEWER,
    NOT_APPENDED_ONLY,
    NOT_BUILT_YET,
    UNREADABLE,
    WRONG,
)
from tapestry.runs.memories.survey import FLUSH_COMMITS, collect
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.sources.added_since import remembered_columns
from tapestry.runs.tables.target import metadata

logger = logging.getLogger(__name__)

LOOKED = (NOT_BUILT_YET, FOREIGN_COMMIT, NOT_APPENDED_ONLY, UNREADABLE, NEWER)
"""Why a run that looked for a memory read none."""
MARK = "CAST(NULL AS BOOLEAN)"
"""What stands in the column ``mark_of``."""
MAPPING = "delta.columnMapping.mode"
FLUSHES = 50
"""So many flushes leave so many small files, and commits for every run to look at: then a memory
is built anew from itself."""
LOG_KEPT = "interval 36500 days"
"""The commit that built a memory says whose the later ones are."""
FLUSH_BYTES = 2**20
FLUSH_SHARE = 0.1
"""A memory takes in what came since once that is ``FLUSH_COMMITS`` commits of the source, or about
so many bytes, or such a share of its own."""


def keep_memories(session: Session, wishes: Sequence[Wish], invocation_id: str) -> tuple[Deed, ...]:
    """Do for the memories that were wished for what is due; a failure is told and harms nothing."""
    by_signature: dict[str, list[Wish]] = {}
    for wish in wishes:
        if wish.wanted is not None and (wish.found.reason in LOOKED or not wish.found.reason):
            by_signature.setdefault(wish.wanted.signature, []).append(wish)
    if not by_signature:
        return ()
    schema = next(w.wanted.schema for w in wishes if w.wanted is not None)
    undecided = [s for s, same in by_signature.items() if _undecided(same)]
    left = left_lately(session, schema, undecided) if undecided else {}
    deeds: list[Deed] = []
    for signature, same in by_signature.items():
        same.sort(key=_version, reverse=True)
        models = tuple(sorted({wish.model for wish in same}))
        try:
            deeds += [
                replace(one, models=models) for one in _kept(session, same, signature in left)
            ]
        except Exception as error:
            name = same[0].wanted.name if same[0].wanted is not None else ""
            logger.warning("the memory %s was not kept: %s", name, error)
    if any(deed.action == "build" for deed in deeds):
        _collect(session, schema)
    write_deeds(session, schema, invocation_id, deeds)
    return tuple(deeds)


def _collect(session: Session, schema: str) -> None:
    """Where memories are made, drop those that nobody uses; a failure harms nothing."""
    try:
        for gone in collect(session, schema):
            logger.info("the memory %s was dropped: nobody uses it", gone.name)
    except Exception as error:
        logger.warning("unused memories were not looked for: %s", error)


def _undecided(same: Sequence[Wish]) -> bool:
    """Is it to be weighed whether it pays?"""
    return not any(wish.named or wish.found.relation for wish in same)


def _version(wish: Wish) -> int:
    return -1 if wish.wanted is None else wish.wanted.pin.version


def _kept(session: Session, same: Sequence[Wish], left: bool) -> list[Deed]:
    """What is due for one memory; ``left``: it was found lately not to pay."""
    wanted, found = same[0].wanted, same[0].found
    assert wanted is not None
    deeds: list[Deed] = []
    if found.reason in (NOT_APPENDED_ONLY, FOREIGN_COMMIT, UNREADABLE):
        # Rows that the source has lost are not to stay in a copy of it, nor in its history.
        deeds.append(drop(session, wanted, found.reason))
    if found.relation:
        if found.kept is not None and found.new and _due(wanted, found.kept):
            if found.kept.newest.n > FLUSHES:
                deeds.append(build(session, wanted, found.relation))
                _vacuum(session, wanted)
            else:
                view = found.view if found.since == found.kept.newest else ""
                deeds += flush(session, wanted, found.kept, view)
    elif found.reason == NEWER or left:
        return deeds
    elif not _undecided(same):
        deeds.append(build(session, wanted))
    elif any(wish.window.tau is not None for wish in same):
        weighed = weigh(session, same)
        if weighed.reason:
            deeds.append(Deed("leave", wanted, 0.0, weighed.reason, weighed.share, weighed.saved))
        else:
            built = build(session, wanted)
            deeds.append(replace(built, share=weighed.share, saved=weighed.saved))
    return deeds


def _vacuum(session: Session, wanted: Wanted) -> None:
    """Remove the files that no memory of the last week had; a failure harms nothing."""
    try:
        session.run(f"VACUUM {relation_name(wanted.name)}")
    except Exception as error:
        logger.debug("old files of the memory %s were not removed: %s", wanted.name, error)


def _due(wanted: Wanted, kept: HeldMemory) -> bool:
    """Is what came in since so much that reading it costs more than to take it in?"""
    newest = kept.newest
    if wanted.pin.version - newest.version >= FLUSH_COMMITS:
        return True
    share = kept.size / max(newest.size, 1)
    pending = max(wanted.table.size - newest.size, 0) * share
    return 0 < pending >= min(FLUSH_BYTES, FLUSH_SHARE * kept.size)


def build(session: Session, wanted: Wanted, held: str = "") -> Deed:
    """Make the memory of its source at its pin, in one statement; of ``held``, a relation that has
    what it is to hold, where there is one."""
    began = monotonic()
    table, version = wanted.table, wanted.pin.version
    generation = generation_of(version, table.size, uuid4().hex)
    said = {
        GENERATION_PROPERTY: generation,
        MEMORY_PROPERTY: json.dumps(
            {"source": table.name, "table_id": table.table_id, "conditions": wanted.conditions}
        ),
        "delta.logRetentionDuration": LOG_KEPT,
    }
    if table.properties.get(MAPPING, "none") != "none":
        said[MAPPING] = "name"  # its columns may have names that files do not take
    comment = f"tapestry: a copy of rows of {table.name}, to be deleted at any time"
    rows = held or f"(SELECT {remembered_columns(table)} FROM {table.at(version)} AS _tap_s)"
    session.run(
        f"CREATE OR REPLACE TABLE {relation_name(wanted.name)} USING delta"
        f" COMMENT {token(comment)} TBLPROPERTIES ({properties(said)}) AS\n"
        f"SELECT /*+ REBALANCE */ *, {MARK} AS {mark_of(generation)} FROM {rows}"
        f" WHERE {wanted.where}"
    )
    return Deed("build", wanted, monotonic() - began)


def flush(session: Session, wanted: Wanted, kept: HeldMemory, view: str = "") -> list[Deed]:
    """Add what came in since, once; nothing where another process has done so.

    ``view``: it is held there.
    """
    began = monotonic()
    new = (f"SELECT * FROM {view}",) if view else new_rows(session, wanted, kept.newest.version)
    if not new:
        return []
    n, until = kept.newest.n + 1, covered(wanted.pin.version, wanted.table.size)
    said = {"t": until, "from": kept.newest.version}
    options = {
        "txnAppId": f"tapestry.memory.{kept.generation}",
        "txnVersion": str(n),
        "userMetadata": metadata(kept.generation, n, "", said),
    }
    listed, rows, mark = wanted.copied, " UNION ALL ".join(new), mark_of(kept.generation)
    try:
        session.run(
            f"INSERT INTO {relation_name(wanted.name)} WITH ({properties(options)})"
            f" ({listed}, {mark})\nSELECT /*+ REBALANCE */ {listed}, {MARK} FROM ({rows})"
        )
    except Exception as error:
        if not (lost_race(error) or lacks_column(error)):  # it was flushed, or built anew
            raise
        return []
    return [Deed("flush", wanted, monotonic() - began)]


def drop(session: Session, wanted: Wanted, reason: str) -> Deed:
    """Remove a memory with all of its history, which may hold rows that its source has lost."""
    began = monotonic()
    session.run(f"DROP TABLE IF EXISTS {relation_name(wanted.name)}")
    return Deed("drop", wanted, monotonic() - began, reason)


def distrust(session: Session, wishes: Iterable[Wish]) -> tuple[str, ...]:
    """Drop the memories that a run has read whose answers were wrong; their names."""
    read = {w.wanted.name: w.wanted for w in wishes if w.wanted is not None and w.found.relation}
    for wanted in read.values():
        if not isinstance(look_at(session, wanted), str):
            drop(session, wanted, WRONG)
    return tuple(sorted(read))
