"""Rules, actions and histories, as the reference interpreter reads them.

A history is a list of steps: commits of tables, runs of rules, runs of actions. Instants are naive
and in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Row = tuple[Any, ...]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """A changed row: inserted (no ``old``), deleted (no ``new``), or updated."""

    old: Row | None
    new: Row | None


def inserted(*rows: Row) -> tuple[Change, ...]:
    """Rows that a commit has inserted."""
    return tuple(Change(None, row) for row in rows)


def deleted(*rows: Row) -> tuple[Change, ...]:
    """Rows that a commit has deleted."""
    return tuple(Change(row, None) for row in rows)


def updated(*pairs: tuple[Row, Row]) -> tuple[Change, ...]:
    """Rows that a commit has updated, each as (before, after)."""
    return tuple(Change(old, new) for old, new in pairs)


@dataclass(frozen=True)
class At:
    """A value of a row: the instant so many seconds after the beginning of a case."""

    seconds: int


@dataclass(frozen=True)
class LogOf:
    """A table is a log of changes: the names of its columns that say what a change is.

    order
        "": each transaction changes a row once.
    before
        The prefix of columns with old values; "": there are none.
    """

    transaction: str = "tx"
    time: str = "done"
    order: str = "seq"
    key: str = "id"
    op: str = "op"
    before: str = ""


@dataclass(frozen=True)
class Table:
    """A table: its columns with their types, and the rows that its version 0 has."""

    columns: Mapping[str, str]
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule; the fields are the keys of its configuration.

    ctes, body
        Its text: ``with <ctes> <body>``; ``{s}`` is the schema of the tables.
    """

    name: str
    body: str
    when: tuple[str, ...]
    ctes: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] | None = None
    evaluate: tuple[str, ...] = ()
    bind_as: str | None = None
    after: timedelta = timedelta(0)
    begin: str = "1"
    on: str = "t"
    log: LogOf | None = None
    changes: str = "cdf"
    on_overwrite: str = "diff"

    @property
    def deciding(self) -> tuple[str, ...]:
        """The names of the queries of `if`; nobody says any: that of the body."""
        return (self.own_name,) if self.conditions is None else self.conditions

    @property
    def own_name(self) -> str:
        """What the rows of the body's SELECT are called."""
        return self.bind_as or "matches"

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of the bound tables."""
        names = [*self.deciding, *self.evaluate]
        if self.bind_as is not None:
            names.append(self.bind_as)
        return tuple(dict.fromkeys(names))

    def text(self, name: str) -> str:
        """One of its queries."""
        with_ = ", ".join(f"{cte} as ({sql})" for cte, sql in self.ctes.items())
        query = self.body if name == self.own_name else f"select * from {name}"
        return f"with {with_} {query}" if with_ else query


@dataclass(frozen=True)
class Action:
    """An action; the fields are the keys of its configuration."""

    name: str
    rules: tuple[str, ...] = ("r",)
    unique: bool = False
    unique_on: tuple[str, ...] = ()
    max_batches: int = 200
    attempts: int = 5
    backoff: timedelta = timedelta(seconds=2)
    on_dead: str = "continue"
    batching: str = "at_start"


@dataclass(frozen=True)
class Commit:
    """A commit of a table, with the rows that it has changed: none, and it is no transaction.

    overwrites
        Has it written the table anew?
    transaction
        Of a log of changes: which of all transactions it is, as they were looked at.
    there
        The rows of the log up to it.
    """

    table: str
    version: int
    time: datetime
    changes: tuple[Change, ...] = ()
    overwrites: bool = False
    transaction: int = 0
    there: tuple[Row, ...] = ()


@dataclass(frozen=True)
class RuleRun:
    """A run of a rule at t."""

    rule: str
    t: datetime


@dataclass(frozen=True)
class ActionRun:
    """A run of an action at t; batches with a key of ``failing`` fail."""

    action: str
    t: datetime
    failing: frozenset[Key] = frozenset()


Step = Commit | RuleRun | ActionRun


@dataclass(frozen=True)
class Program:
    """Tables, rules that look at them, and actions."""

    tables: Mapping[str, Table]
    rules: tuple[Rule, ...]
    actions: tuple[Action, ...]

    def rule(self, name: str) -> Rule:
        """The rule of that name."""
        return next(one for one in self.rules if one.name == name)
