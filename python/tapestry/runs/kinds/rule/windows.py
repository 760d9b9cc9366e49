"""The transactions that a run of a rule looks at, wherever the changes of its table come from.

feed    each commit is a transaction; its changed rows are those of Delta's change data feed
log     the table is a log of changes; its rows say which transaction they are of
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tapestry.runs.query.views import Views
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class WindowReached:
    """A rule has come so far with a window.

    version
        Of the table that it looks at.
    start
        The version after which the window begins.
    pins
        The versions of the other tables.
    own
        What the next window has to know besides.
    """

    version: int
    start: int
    pins: Mapping[str, Pin] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


class TransactionWindow(Protocol):
    """The transactions that a run looks at, and the tables as they were at each of them."""

    @property
    def empty(self) -> bool:
        """Has nothing come?"""

    @property
    def columns(self) -> Sequence[Column]:
        """Those of the changed rows."""

    @property
    def moved(self) -> Collection[str]:
        """The tables that are not the same at all transactions: known when the changes are read."""

    def read_changes(self, views: Views, n: int) -> str:
        """A view of the changed rows of all transactions, for the run n of the rule."""

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """A SELECT of another table's rows; of one that has moved from and before which transaction
        each is there."""

    def depth_of(self, version: str) -> str:
        """SQL: how deep in a chain of actions a commit is."""

    def reached(self) -> WindowReached:
        """How far the rule is, once the changes were read."""


class ChangesSource(Protocol):
    """Gives a rule its windows, one after the other."""

    def first(self) -> TransactionWindow:
        """The transactions that the first run looks at."""

    def following(self, row: StateRow) -> TransactionWindow:
        """Those after the run of a row."""

    def passing(self, row: StateRow) -> TransactionWindow:
        """None, as if those since the run of a row had not been."""
