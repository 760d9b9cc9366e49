"""Surveys all memories of a schema, whoever uses them: their contents, and which are unused.

A memory that runs read is updated at least every ``FLUSH_COMMITS`` commits of its source. So one
that is further behind, and that nobody wrote to for a week, is unused. So is one whose source lost
rows since, or was replaced: no run reads it, and rows that were deleted must not stay in it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from tapestry.errors import SourceHistoryGone
from tapestry.names import MEMORY_PREFIX, MEMORY_PROPERTY
from tapestry.quoting import relation_name, token
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list
from tapestry.runs.memories.state import versions_held
from tapestry.runs.sources.describe import DeltaSource, describe
from tapestry.runs.sources.history import read_history
from tapestry.runs.sources.pins import newest_version
from tapestry.runs.tables.target import look

logger = logging.getLogger(__name__)

FLUSH_COMMITS = 20
"""A memory takes in what came since once that is so many commits of its source."""
UNUSED = timedelta(days=7)


@dataclass(frozen=True)
class Surveyed:
    """A memory as read from its table alone.

    source, conditions
        The table and the conditions of its rows, by its own properties.
    behind
        Versions of the source that it lacks; None: the source no longer exists.
    spoilt
        Its source lost or changed rows since, or its contents are unknown.
    """

    name: str
    source: str
    conditions: tuple[str, ...]
    files: int
    size: int
    written_at: datetime
    behind: int | None
    spoilt: bool

    def unused(self, now: datetime) -> bool:
        """Return whether nobody uses it: nobody can where its source is gone, or lost rows."""
        old = self.written_at < now - UNUSED
        return self.behind is None or self.spoilt or (old and self.behind >= FLUSH_COMMITS)


def survey(session: Session, schema: str) -> tuple[Surveyed, ...]:
    """Return the memories of a schema, by name, without tables that are none of ours."""
    found = []
    for name in memory_names(session, schema):
        try:
            one = _surveyed(session, name)
        except Exception as error:
            logger.warning("the memory %s cannot be read: %s", name, error)
            continue
        if one is not None:
            found.append(one)
    return tuple(found)


def collect(session: Session, schema: str, now: datetime | None = None) -> tuple[Surveyed, ...]:
    """Drop the memories that nobody uses; return them."""
    now = now or datetime.now(timezone.utc)
    gone = [one for one in survey(session, schema) if one.unused(now)]
    for one in gone:
        session.run(f"DROP TABLE IF EXISTS {relation_name(one.name)}")
    return tuple(gone)


def memory_names(session: Session, schema: str) -> tuple[str, ...]:
    """Return the tables of a schema that have the names of memories, sorted."""
    pattern = f"{MEMORY_PREFIX}*"
    rows = session.rows(f"SHOW TABLES IN {relation_name(schema)} LIKE {token(pattern)}")
    tables = sorted(str(table) for _, table, *_ in rows)
    return tuple(f"{schema}.{one}" for one in tables if one.startswith(MEMORY_PREFIX))


def said_of(session: Session, name: str) -> Mapping[str, object] | None:
    """Return a memory's description (``MemoryDefinition.told``); None for another table."""
    asked = f"SHOW TBLPROPERTIES {relation_name(name)} ({token(MEMORY_PROPERTY)})"
    ((_, text),) = session.rows(asked)
    return json.loads(text) if str(text).startswith("{") else None


def _surveyed(session: Session, name: str) -> Surveyed | None:
    glance, said = look(session, name), said_of(session, name)
    if glance is None or not glance.generation or said is None:
        return None
    source = str(said["source"])
    tables = [said, *as_list(said.get("joined") or [])]
    held = versions_held(session, name, glance.generation)
    behind = _behind(session, tables, held)
    written = datetime.fromisoformat(glance.last_commit)
    written = written if written.tzinfo else written.replace(tzinfo=timezone.utc)
    conditions = tuple(map(str, as_list(said["conditions"])))
    spoilt = behind is not None and _spoilt(session, tables, held)
    size, files = glance.size, glance.files
    return Surveyed(name, source, conditions, files, size, written, behind, spoilt)


def _behind(
    session: Session, tables: Sequence[Mapping[str, object]], held: tuple[int, ...] | None
) -> int | None:
    """Return how many versions of its sources a memory lacks, at most; None where one is gone."""
    most = 0
    for place, said in enumerate(tables):
        name = str(said["source"])
        there = look(session, name)
        if there is None or there.table_id != str(said["table_id"]):
            return None
        newest = there.version if there.version is not None else newest_version(session, name)
        most = max(most, newest - (held[place] if held is not None else 0))
    return most


def _spoilt(
    session: Session, tables: Sequence[Mapping[str, object]], held: tuple[int, ...] | None
) -> bool:
    """Return whether one of its sources lost or changed rows since, as far as logs tell."""
    if held is None or len(held) != len(tables):
        return True
    for said, version in zip(tables, held, strict=True):
        table = describe(session, str(said["source"]))
        if not isinstance(table, DeltaSource):
            return True
        newest = newest_version(session, table.name)
        if newest <= version:
            continue
        try:
            commits = read_history(session, table, version, newest)
        except SourceHistoryGone:
            return True
        if any(commit.kind == "rewrite" for commit in commits):
            return True
    return False
