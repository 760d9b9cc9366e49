"""Which version of a source a run reads: one pin a source for the whole invocation.

Checks and sibling models read the same pins, so that diamonds agree (semantics, section 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Lock

from tapestry.quoting import relation_name
from tapestry.runs.engine.errors_of_delta import history_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.committed import with_commits
from tapestry.runs.sources.describe import DeltaSource, describe
from tapestry.runs.sources.too_old import retention
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

    ``commits_table`` is where runs keep the times of sources' commits; "" for nowhere. ``lost``
    has models whose run found that files are gone which its last run has read; ``left`` has tables
    that runs have left since they were pinned; ``logs`` the pin of each log.
    """

    def __init__(self, commits_table: str = "") -> None:
        self.commits_table = commits_table
        self.lost: set[str] = set()
        self.left: set[str] = set()
        self.logs: dict[tuple[str, str], Pin] = {}
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
            if name in self.left:
                self.look_again(name)
            if name not in self._known:
                self._known[name] = self.of_one_log(_look(session, name))
            return self._known[name]

    def seen(self) -> dict[str, Pinned]:
        """The tables that were looked at so far, by name."""
        with self._lock:
            return {name: one for name, one in self._known.items() if isinstance(one, Pinned)}

    def of_one_log(self, found: Pinned | View) -> Pinned | View:
        """The source at the pin that its log has under any name: of two names it is one source."""
        if isinstance(found, View):
            return found
        log = (found.table.location, found.table.table_id)
        with self._lock:
            return replace(found, pin=self.logs.setdefault(log, found.pin))

    def lose(self, model: str, error: BaseException) -> bool:
        """Note that an error came of files that are gone; False: it did not, or that was known."""
        if model in self.lost or not history_gone(error):
            return False
        self.lost.add(model)
        return True

    def last(self, tables: Mapping[str, Pinned], before: Mapping[str, Pin]) -> timedelta:
        """How long the pins of ``before`` do for a run that finds no row to change.

        Half as long as a source that has moved since keeps what only old versions have: then such a
        run lands with pins of its own. All files of a pin were in use when it was taken.
        """
        moved = (one.table for name, one in tables.items() if one.pin != before.get(name))
        return min(map(retention, moved), default=timedelta.max) / 2

    def look_again(self, name: str) -> None:
        """Pin a table anew: a run has left another version of it."""
        self.left.discard(name)
        with self._lock:
            found = self._known.pop(name, None)
            self._committed.pop(name, None)
            if isinstance(found, Pinned):
                self.logs.pop((found.table.location, found.table.table_id), None)

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
