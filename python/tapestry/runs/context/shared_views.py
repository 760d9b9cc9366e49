"""Views of pinned sources that several models of an invocation read, computed once for all.

Where all of Spark is one process, a global temporary view is kept in memory from its first use on:
every session of that Spark, one for each thread, reads the same rows. It has a unique name, so that
simultaneous invocations share none, and it is dropped when its invocation ends. Its rows never
change, since every source is read at its pin: without it a statement reads the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from uuid import uuid4

from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.sql.read.without_ctes import without_ctes

logger = logging.getLogger(__name__)

SCHEMA = "global_temp"
"""The schema of Spark's temporary views that all of its sessions can read."""


@dataclass
class _Slot:
    """A view, once it is made; "" where none can be made."""

    _lock: Lock = field(default_factory=Lock)
    _view: str | None = None

    def ready_view(self, session: Session, select: str) -> str:
        """Return the name of the view, made on the first call."""
        with self._lock:
            if self._view is None:
                self._view = _made(session, select)
            return self._view

    def release(self, session: Session) -> None:
        """Drop the view, and make none again."""
        with self._lock:
            view, self._view = self._view, ""
        if view:
            _drop(session, view)


@dataclass
class SharedViews:
    """The views of one invocation; threads share it."""

    _slots: dict[Hashable, _Slot] = field(default_factory=dict)
    _intervals: dict[Hashable, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _over: bool = False

    def shared_view(self, session: Session, key: Hashable, select: str) -> str:
        """Return the view of a query, made on first request; "": there is none, inline the query.

        ``key`` identifies its rows: queries of one key have the same rows.
        """
        with self._lock:
            if self._over:
                return ""
            slot = self._slots.setdefault(key, _Slot())
        return slot.ready_view(session, select)

    def interval(
        self, key: Hashable, after: datetime, until: datetime
    ) -> tuple[datetime, datetime]:
        """Return a requested interval that covers ``(after, until]``, else this one."""
        with self._lock:
            known = self._intervals.setdefault(key, [])
            for low, high in known:
                if low <= after and until <= high:
                    return low, high
            known.append((after, until))
            return after, until

    def rows(self, session: Session, view: str) -> int:
        """Return the number of rows of a view, counted once."""
        if view not in self._rows:
            ((count,),) = session.rows(f"SELECT count(*) FROM {view}")
            self._rows[view] = int(count)
        return self._rows[view]

    def release(self, session: Session) -> None:
        """Drop the views and their cached data: the invocation is over, none is made again.

        A failure harms nothing: nobody reads them any more, and they end with Spark's process.
        """
        with self._lock:
            self._over, slots = True, list(self._slots.values())
        for slot in slots:
            slot.release(session)


def _made(session: Session, select: str) -> str:
    frame = session.can.frame
    if frame is None or not session.can.keeps_memory():
        return ""
    name = f"__tapestry_{uuid4().hex[:16]}"
    view = f"{SCHEMA}.{identifier(name)}"
    try:
        frame(without_ctes(select)).createOrReplaceGlobalTempView(name)
        session.run(f"CACHE LAZY TABLE {view}")
    except Exception as error:
        logger.debug("nothing is shared in memory: %s", error)
        _drop(session, view)
        return ""
    return view


def _drop(session: Session, view: str) -> None:
    try:
        session.run(f"DROP VIEW IF EXISTS {view}")
    except Exception as error:
        logger.debug("%s was not dropped: %s", view, error)
