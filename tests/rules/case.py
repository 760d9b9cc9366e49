"""A case: a program, what is done to its tables, and what its actions are to see.

Instants are whole seconds after a beginning, which whoever runs the case chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.rules.definitions import (
    Action,
    ActionRun,
    At,
    Change,
    Commit,
    Key,
    Program,
    Row,
    Rule,
    RuleRun,
    Step,
    Table,
    inserted,
)
from tests.rules.queues import Batch

BEGIN = datetime(2026, 1, 1)
BEFORE = 1000
"""So many seconds before the beginning the tables are made."""
COLUMNS = {"id": "int", "k": "int", "v": "int", "s": "string"}
A, B, C = (1, 1, 10, "a"), (2, 1, 20, "b"), (3, 2, None, "c")
ROWS: tuple[Row, ...] = (A, B, C)


@dataclass(frozen=True)
class Do:
    """A statement over a table, ``{s}`` is the schema, and the rows that it changes.

    Without a statement the rows of ``changes``, all of them inserted, are inserted. ``overwrites``:
    it writes the table anew.
    """

    at: int
    sql: str = ""
    changes: tuple[Change, ...] = ()
    table: str = "t"
    overwrites: bool = False


@dataclass(frozen=True)
class Look:
    """A run of a rule."""

    at: int
    rule: str = "r"


@dataclass(frozen=True)
class Act:
    """A run of an action; batches with a key of ``failing`` fail."""

    at: int
    action: str = "act"
    failing: frozenset[Key] = frozenset()


@dataclass(frozen=True)
class Seen:
    """A batch as an action sees it: its key, how many firings, and bags of rows by bound table."""

    key: Key | None
    firings: int
    rows: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Case:
    """Steps in their order, and of each run of an action the batches that it executes.

    gap
        Why the product does something else.
    """

    name: str
    rules: tuple[Rule, ...]
    actions: tuple[Action, ...]
    steps: tuple[Do | Look | Act, ...]
    expected: tuple[tuple[Seen, ...], ...] = ()
    tables: Mapping[str, Table] = field(default_factory=lambda: {"t": Table(COLUMNS, ROWS)})
    gap: str = ""

    @property
    def program(self) -> Program:
        """What the interpreter reads."""
        return Program(self.tables, self.rules, self.actions)


def seen(key: Key | None = None, firings: int = 1, **rows: Sequence[Row]) -> Seen:
    """A batch that is expected."""
    return Seen(key, firings, rows)


def shown(batch: Batch) -> tuple[Any, ...]:
    """A batch in a form that can be compared."""
    bags = {name: frozenset(bag.items()) for name, bag in batch.rows.items()}
    return (batch.key, len(batch.firings), frozenset(bags.items()))


def wanted(expected: Seen) -> tuple[Any, ...]:
    """The same of a batch that is expected."""
    bags = {name: frozenset(Counter(rows).items()) for name, rows in expected.rows.items()}
    return (expected.key, expected.firings, frozenset(bags.items()))


def at_instants(changes: Iterable[Change], begin: datetime) -> tuple[Change, ...]:
    """Changes with instants in the place of seconds after the beginning."""

    def told(row: Row | None) -> Row | None:
        if row is None:
            return None
        return tuple(
            begin + timedelta(seconds=one.seconds) if isinstance(one, At) else one for one in row
        )

    return tuple(Change(told(one.old), told(one.new)) for one in changes)


def history(case: Case) -> list[Step]:
    """What the interpreter reads, where each statement with changes is the table's next version."""
    made = BEGIN - timedelta(seconds=BEFORE)
    found: list[Step] = [
        Commit(name, 0, made, at_instants(inserted(*table.rows), BEGIN))
        for name, table in case.tables.items()
    ]
    versions = dict.fromkeys(case.tables, 0)
    for step in case.steps:
        at = BEGIN + timedelta(seconds=step.at)
        if isinstance(step, Do):
            versions[step.table] += 1
            changes = at_instants(step.changes, BEGIN)
            version = versions[step.table]
            found.append(Commit(step.table, version, at, changes, step.overwrites))
        elif isinstance(step, Look):
            found.append(RuleRun(step.rule, at))
        else:
            found.append(ActionRun(step.action, at, step.failing))
    return found
