"""Pins that a warm process finds again with one look at each source."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pinned, Pins
from tapestry.runs.tables.target import look
from tapestry.sql import View


class WarmPins(Pins):
    """The pins of one invocation; a source whose definition is as it was is not described again.

    ``zone`` is the session's: what is known of columns of local times depends on it.
    """

    def __init__(self, recall: Recall, zone: str, commits_table: str = "") -> None:
        super().__init__(commits_table)
        self._recall, self._zone = recall, zone
        self._warm: dict[str, Pinned] = {}
        self._warm_lock = Lock()

    def of(self, session: Session, name: str) -> Pinned | View:
        """The source behind ``name`` at this invocation's pin."""
        with self._warm_lock:
            if name in self._warm:
                return self._warm[name]
            now = _detail(session, name)
            pinned = None if now is None else self._recall.source(name, self._zone, now)
            if pinned is None:
                # Looked at before it is described: a commit in between is seen the next time.
                found = super().of(session, name)
                if isinstance(found, View) or now is None:
                    return found
                pinned, after = found, _detail(session, name)
                if after is None or after.definition != now.definition:
                    now = replace(now, definition="")  # redefined meanwhile: by whom, who knows
            assert now is not None  # what is remembered was looked at
            self._recall.note_source(name, self._zone, now, pinned)
            self._warm[name] = pinned
            return pinned

    def _with_commits(self, session: Session, pinned: Pinned) -> DeltaSource:
        def find() -> DeltaSource:
            return super(WarmPins, self)._with_commits(session, pinned)

        key = ("commits", self.commits_table, pinned.table.name, pinned.pin)
        return self._recall.change(key, find)


def _detail(session: Session, name: str) -> Glance | None:
    """A Delta table's detail; None for a view and for what is not there (``describe`` tells)."""
    try:
        return look(session, name)
    except Exception:
        return None
