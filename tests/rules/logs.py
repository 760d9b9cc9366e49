"""A log of changes, read literally: which transactions a run finds in it, one after the other.

A row of the log is a change. Transactions are the rows with one (time, transaction) that a run
finds and no run before it has; they come in that order. What a row was before is what the change
of its key before it says, in the order of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.rules.definitions import Change, Commit, LogOf, Row


def columns_of_changes(log: LogOf, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of the changed rows: not those that only say what a change is."""
    hidden = {log.time, log.op, log.order}
    if log.before:
        hidden |= {log.before + name for name in columns if log.before + name in columns}
    return {name: kind for name, kind in columns.items() if name not in hidden}


@dataclass(frozen=True)
class Logged:
    """A row of a log: the load that has brought it, and the run of the rule that has found it."""

    load: int
    row: Row
    run: int


@dataclass
class LogReader:
    """A log, and what was found in it; ``begin`` is the load up to which nothing is looked at."""

    table: str
    log: LogOf
    columns: Sequence[str]
    begin: int
    found: list[Logged] = field(default_factory=list)
    taken: set[tuple[int, int]] = field(default_factory=set)
    runs: int = 0
    count: int = 0
    t: datetime | None = None

    def of(self, row: Row, name: str) -> Any:
        """A value of a row."""
        return row[list(self.columns).index(name)]

    def transactions(self, commits: Sequence[Commit], t: datetime) -> Iterator[Commit]:
        """The transactions of a run at t; nothing was taken back by a run at an earlier one."""
        t = self.t = t if self.t is None else max(t, self.t)
        new: list[Logged] = []
        for commit in commits:
            for place, change in enumerate(commit.changes):
                assert change.old is None
                assert change.new is not None
                if (commit.version, place) in self.taken:
                    continue
                before = commit.version <= self.begin
                if not before and self.of(change.new, self.log.time) > t:
                    continue
                self.taken.add((commit.version, place))
                one = Logged(commit.version, change.new, 0 if before else self.runs + 1)
                (self.found if before else new).append(one)
        self.runs += 1
        known = [*self.found, *new]
        for key in sorted({self.group(one) for one in new}):
            rows = [one for one in new if self.group(one) == key]
            rows.sort(key=lambda one: (self.order(one), self.of(one.row, self.log.key)))
            self.found += rows
            self.count += 1
            yield Commit(
                self.table,
                max(one.load for one in rows),
                key[0],
                tuple(self.change(one, known) for one in rows),
                transaction=self.count,
                there=tuple(one.row for one in self.found),
            )

    def group(self, one: Logged) -> tuple[Any, ...]:
        """The transaction that a row is of."""
        return (self.of(one.row, self.log.time), self.of(one.row, self.log.transaction))

    def order(self, one: Logged) -> Any:
        """The place of a row in its transaction."""
        return self.of(one.row, self.log.order) if self.log.order else 0

    def change(self, one: Logged, known: Sequence[Logged]) -> Change:
        """The change that a row tells of."""
        new, op = self.told(one.row), self.of(one.row, self.log.op)
        if op == "insert":
            return Change(None, new)
        old = self.before(one, known)
        if op == "update":
            assert old is not None, (one, "is an update of nothing")
            return Change(old, new)
        assert op == "delete"
        return Change(new if old is None else old, None)

    def before(self, one: Logged, known: Sequence[Logged]) -> Row | None:
        """The row before a change; None: there was none."""
        if self.log.before:
            return tuple(
                self.of(one.row, self.log.before + name)
                if self.log.before + name in self.columns
                else self.of(one.row, name)
                for name in columns_of_changes(self.log, dict.fromkeys(self.columns, ""))
            )
        key = self.of(one.row, self.log.key)
        place = (*self.group(one), self.order(one), one.run)
        earlier = [
            ((*self.group(other), self.order(other), other.run), other)
            for other in known
            if self.of(other.row, self.log.key) == key
        ]
        earlier = [(at, other) for at, other in earlier if at < place]
        if not earlier:
            return None
        last = max(earlier, key=lambda pair: pair[0])[1]
        return None if self.of(last.row, self.log.op) == "delete" else self.told(last.row)

    def told(self, row: Row) -> Row:
        """The values of the changed row."""
        columns = columns_of_changes(self.log, dict.fromkeys(self.columns, ""))
        return tuple(self.of(row, name) for name in columns)
