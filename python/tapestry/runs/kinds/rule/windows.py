"""The windows of transactions that a rule's run looks at, from any source of changes.

feed    each commit is a transaction; its changed rows are those of Delta's change data feed
log     the table is a log of changes; its rows say to which transaction they belong
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
    """A rule's position after a window.

    version
        The version of the table that it looks at.
    start
        The version after which the window begins.
    pins
        The versions of the other tables.
    own
        Further values for the next window.
    """

    version: int
    start: int
    pins: Mapping[str, Pin] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


class TransactionWindow(Protocol):
    """The transactions that a run looks at, and the tables as they were at each of them."""

    @property
    def empty(self) -> bool:
        """Whether there is no transaction."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of the changed rows."""

    @property
    def moved(self) -> Collection[str]:
        """The tables that differ between transactions: known when the changes are read."""

    def read_changes(self, views: Views, n: int) -> str:
        """Return a view of the changed rows of all transactions, for the run n."""

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of another table's rows.

        If it has moved, each row has the range of transactions at which it is there.
        """

    def depth_of(self, version: str) -> str:
        """Return SQL: how deep in a chain of actions a commit is."""

    def reached(self) -> WindowReached:
        """Return how far the rule is, once the changes were read."""


class ChangesSource(Protocol):
    """Gives a rule its windows, one after the other."""

    def first(self) -> TransactionWindow:
        """Return the transactions that the first run looks at."""

    def following(self, row: StateRow) -> TransactionWindow:
        """Return the transactions after the run of a row."""

    def passing(self, row: StateRow) -> TransactionWindow:
        """Return no transaction, as if those since the run of a row had not been."""
