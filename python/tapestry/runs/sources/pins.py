"""Determines which version of a source a run reads: one pin a source for the whole invocation.

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
from tapestry.runs.sources.history import table_id_at
from tapestry.runs.sources.too_old import retention
from tapestry.sql.catalog import View


@dataclass(frozen=True)
class Pin:
    """One version of one Delta table; a table that was dropped and made again has another id.

    ``kept`` says that the run which read it keeps late rows of this table, in a kept table that
    the next run needs. It does not count when pins are compared.
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
    that runs have written since they were pinned; ``logs`` the pin of each log.
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
        """Return the source behind ``name``, described and pinned at the first call.

        Raises Refusal for a relation that cannot be pinned (see ``describe``).
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
        """Return the tables that were looked at so far, by name."""
        with self._lock:
            return {name: one for name, one in self._known.items() if isinstance(one, Pinned)}

    def of_one_log(self, found: Pinned | View) -> Pinned | View:
        """Return the source at its log's pin: two names of one log are one source."""
        if isinstance(found, View):
            return found
        log = (found.table.location, found.table.table_id)
        with self._lock:
            return replace(found, pin=self.logs.setdefault(log, found.pin))

    def lose(self, model: str, error: BaseException) -> bool:
        """Note that files are gone by an error; return False if it is another, or a known one."""
        if model in self.lost or not history_gone(error):
            return False
        self.lost.add(model)
        return True

    def last(self, tables: Mapping[str, Pinned], before: Mapping[str, Pin]) -> timedelta:
        """Return for how long a run that finds no changed row can keep the pins of ``before``.

        That is half the time for which a changed source keeps files of old versions: then such a
        run lands with pins of its own. All files of a pin were in use when it was taken.
        """
        moved = (one.table for name, one in tables.items() if one.pin != before.get(name))
        return min(map(retention, moved), default=timedelta.max) / 2

    def look_again(self, name: str) -> None:
        """Pin a table anew: a run has written another version of it."""
        self.left.discard(name)
        with self._lock:
            found = self._known.pop(name, None)
            self._committed.pop(name, None)
            if isinstance(found, Pinned):
                self.logs.pop((found.table.location, found.table.table_id), None)

    def committed(self, session: Session, name: str, pinned: Pinned) -> Pinned:
        """Return the source of ``of`` with the times of its commits.

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
    """Return the newest version of a Delta table."""
    return int(session.rows(f"DESCRIBE HISTORY {relation_name(name)} LIMIT 1")[0][0])


def log_goes_on(session: Session, table: DeltaSource, pin: Pin) -> bool:
    """Return whether a table that was pinned is this one, replaced at most: its log goes on."""
    return table_id_at(session, table, pin.version) == pin.table_id
