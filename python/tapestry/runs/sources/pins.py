"""Which version of a source a run reads: one pin a source for the whole invocation.

Checks and sibling models read the same pins, so that diamonds agree (semantics, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from tapestry.quoting import relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.committed import with_commits
from tapestry.runs.sources.describe import DeltaSource, describe
from tapestry.sql.catalog import View


@dataclass(frozen=True)
class Pin:
    """One version of one Delta table; a table that was dropped and made again has another id.

    ``kept`` says that the run which read it keeps late rows of this table, in a kept table that
    the next run needs. It is no part of what the pin names.
    """

    table_id: str
    version: int
    kept: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Pinned:
    """A source as this invocation sees it."""

    table: DeltaSource
    pin: Pin


class Pins:
    """The pins of one invocation. The caller owns it; models in several threads may share it.

    ``commits_table`` is where runs keep the times of sources' commits; "" for nowhere.
    """

    def __init__(self, commits_table: str = "") -> None:
        self.commits_table = commits_table
        self._committed: dict[str, DeltaSource] = {}
        self._known: dict[str, Pinned | View] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def of(self, session: Session, name: str) -> Pinned | View:
        """The source behind ``name``, described and pinned at the first call.

        Raises Refusal for what cannot be pinned (see ``describe``).
        """
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._known:
                self._known[name] = _look(session, name)
            return self._known[name]

    def seen(self) -> dict[str, Pinned]:
        """The tables that were looked at so far, by name."""
        with self._lock:
            return {name: one for name, one in self._known.items() if isinstance(one, Pinned)}

    def committed(self, session: Session, name: str, pinned: Pinned) -> Pinned:
        """What ``of`` gave for ``name``, with the times of its commits.

        Raises what ``with_commits`` does.
        """
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._committed:
                self._committed[name] = self._with_commits(session, pinned)
            return Pinned(self._committed[name], pinned.pin)

    def _with_commits(self, session: Session, pinned: Pinned) -> DeltaSource:
        return with_commits(session, pinned.table, pinned.pin.version, self.commits_table)


def _look(session: Session, name: str) -> Pinned | View:
    found = describe(session, name)
    if isinstance(found, View):
        return found
    return Pinned(found, Pin(found.table_id, newest_version(session, name)))


def newest_version(session: Session, name: str) -> int:
    """The newest version of a Delta table."""
    return int(session.rows(f"DESCRIBE HISTORY {relation_name(name)} LIMIT 1")[0][0])
