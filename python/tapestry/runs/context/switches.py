"""The models that the operator has switched off, read and updated by an invocation.

The table is read once an invocation, so that all its models see the same. It is not read where its
log tells enough: its newest version says that nothing is switched off, or this process has read
that version before. Then it is read when the invocation has written anyway, to update it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from threading import Lock

from tapestry.errors import StateUnreadable
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.queries import (
    QueryRow,
    all_on,
    mark_all_on,
    read_queries,
    readable_query,
    write_queries,
)

Rows = Mapping[str, QueryRow | OddRow]


@dataclass
class Switches:
    """The switches of one invocation, which began at ``now``; threads share it.

    skipped
        Models of this invocation that are switched off.
    """

    table: str
    now: datetime
    recall: Recall = field(default_factory=Recall)
    skipped: set[str] = field(default_factory=set)
    _rows: Rows | None = None
    _asked: bool = False
    _unreadable: str = ""
    _told: bool = False
    _unmarked: bool = False
    _planned: dict[str, QueryRow] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def row(self, session: Session, model: str) -> QueryRow | None:
        """Return a model's row, by the model's table; None: it has none, and is active.

        Raises StateUnreadable where it cannot be read.
        """
        with self._lock:
            if self._rows is None:
                self._rows = self._looked(session)
            return readable_query(self._rows.get(model))

    def off(self, session: Session, model: str) -> QueryRow | None:
        """Return the row of a model that is switched off, and is skipped by this invocation.

        Raises StateUnreadable for a row that our runs and commands have not written.
        """
        row = self.row(session, model)
        if row is None or row.active:
            return None
        self.skipped.add(model)
        return row

    def plans(self, model: str, id: str, priority: int) -> None:
        """Note that the project has this model, with this priority, for the table."""
        self._planned[model] = QueryRow(model, id, priority, self.now)

    def warnings(self) -> tuple[str, ...]:
        """Return the warning about the table as a whole, to the first caller only."""
        with self._lock:
            told, self._told = self._told, True
        return (self._unreadable,) if self._unreadable and not told else ()

    def due(self, wrote: bool) -> bool:
        """Return whether something is to be written at the end of the invocation, as far as known.

        ``wrote``: the invocation has written something else.
        """
        if not self._planned or self._unreadable:
            return False
        return wrote if not self._asked else bool(self._changed()) or (wrote and self._unmarked)

    def write(self, session: Session) -> None:
        """Bring the table up to date with what the project says of the models."""
        if not self._asked:
            self._rows = self._read(session, session.can.glance(self.table))
        changed, self._planned = self._changed(), {}
        if changed:
            write_queries(session, self.table, changed)
        if not self._unreadable:
            mark_all_on(session, self.table)

    def _changed(self) -> list[QueryRow]:
        """Return the rows that the table lacks, or has with another id or priority."""
        rows: list[QueryRow] = []
        for model, row in self._planned.items() if not self._unreadable else ():
            there = (self._rows or {}).get(model)
            if isinstance(there, OddRow):
                continue
            if there is None or (there.id, there.priority) != (row.id, row.priority):
                rows.append(row if there is None else replace(row, since=there.since))
        return rows

    def _looked(self, session: Session) -> Rows:
        """Return all rows; none where the table's log tells that nothing is switched off."""
        seen = session.can.glance(self.table)
        if seen is not None and all_on(seen):
            return {}
        rows = self._read(session, seen)
        on = not any(isinstance(row, OddRow) or not row.active for row in rows.values())
        self._unmarked = on and seen is not None and seen.version is not None
        return rows

    def _read(self, session: Session, seen: Glance | None) -> Rows:
        """Return all rows; none of an unreadable table, for then no model is switched off.

        ``seen``: as this process may have read it before.
        """
        self._asked = True
        find = partial(read_queries, session, self.table)
        try:
            if seen is None:
                return find()
            return self.recall.change((self.table, seen, seen.version), find)
        except StateUnreadable as error:
            self._unreadable = f"{error.reason}: no model counts as switched off"
            return {}
