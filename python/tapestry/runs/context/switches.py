"""Which models the operator has switched off, as an invocation finds it, and what it writes of it.

Of the table nothing but that is asked. It is read once an invocation, so that all models of it see
the same, and where a process has seen it as it still is, not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any

from tapestry.errors import StateUnreadable
from tapestry.runs.context.memory import Memory
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.queries import QueryRow, read_queries, readable


@dataclass
class Switches:
    """The switches of one invocation, which began at ``now``; threads share it.

    skipped
        Models of this invocation that are switched off.
    """

    table: str
    now: datetime
    memory: Memory = field(default_factory=Memory)
    skipped: set[str] = field(default_factory=set)
    _rows: Mapping[str, QueryRow | OddRow] | None = None
    _unreadable: str = ""
    _told: bool = False
    _planned: dict[str, QueryRow] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def row(self, session: Session, model: str) -> QueryRow | None:
        """What stands there of a model, by its table; None: nothing, and it is active.

        Raises StateUnreadable where that cannot be read.
        """
        with self._lock:
            if self._rows is None:
                self._rows = self._read(session)
            return readable(self._rows.get(model))

    def off(self, session: Session, model: str) -> QueryRow | None:
        """The row of a model that is switched off, and is skipped by this invocation.

        Raises StateUnreadable for a row that nobody of ours has written.
        """
        row = self.row(session, model)
        if row is None or row.active:
            return None
        self.skipped.add(model)
        return row

    def plans(self, model: str, id: str, priority: int) -> None:
        """The project has this model, with this priority: the table is to say so."""
        self._planned[model] = QueryRow(model, id, priority, self.now)

    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the table as a whole; told once, to whoever asks first."""
        with self._lock:
            told, self._told = self._told, True
        return (self._unreadable,) if self._unreadable and not told else ()

    def changed(self) -> list[QueryRow]:
        """Rows that the table lacks, or has with another id or priority; asked for once."""
        with self._lock:
            planned, self._planned = self._planned, {}
        known: Mapping[str, Any] = self._rows or {}
        rows: list[QueryRow] = []
        if self._unreadable:
            return rows
        for model, row in planned.items():
            there = known.get(model)
            if isinstance(there, OddRow):
                continue
            if there is None or (there.id, there.priority) != (row.id, row.priority):
                rows.append(row if there is None else replace(row, since=there.since))
        return rows

    def _read(self, session: Session) -> Mapping[str, QueryRow | OddRow]:
        """All rows; of a table that is not as runs make it none, for then none is switched off."""

        def read() -> dict[str, QueryRow | OddRow]:
            return read_queries(session, self.table)

        seen = session.can.glance(self.table)
        try:
            if seen is None:
                return read()
            return self.memory.change((self.table, seen, seen.version), read)
        except StateUnreadable as error:
            self._unreadable = f"{error.reason}: no model counts as switched off"
            return {}
