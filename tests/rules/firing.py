"""Firings: each commit by itself is shown to a rule, in the state at that commit (rules, §2).

DuckDB answers the queries of the rule over the four transition tables of that one commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from tests.rules.definitions import Commit, Program, Row, Rule
from tests.rules.logs import columns_of_changes

ADDED = {"execute_order": "bigint", "commit_time": "timestamp", "commit_version": "bigint"}
TRANSITIONS = ("inserted", "deleted", "old", "new")


@dataclass(frozen=True)
class Bound:
    """A bound table of a firing."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Firing:
    """A rule and a commit whose event and condition hold."""

    rule: Rule
    commit: Commit
    bound: Mapping[str, Bound]

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands among all firings."""
        commit = self.commit
        return (commit.time, commit.table, commit.version, commit.transaction, self.rule.name)


def transition_rows(commit: Commit) -> dict[str, list[Row]]:
    """The four transition tables of a commit: all changed rows, whatever triggers."""
    found: dict[str, list[Row]] = {name: [] for name in TRANSITIONS}
    for order, change in enumerate(commit.changes, start=1):
        added = (order, commit.time, commit.version)
        if change.old is None and change.new is not None:
            found["inserted"].append((*change.new, *added))
        elif change.new is None and change.old is not None:
            found["deleted"].append((*change.old, *added))
        elif change.old is not None and change.new is not None:
            found["old"].append((*change.old, *added))
            found["new"].append((*change.new, *added))
    return found


def triggers(rule: Rule, commit: Commit, columns: Sequence[str]) -> bool:
    """Does a commit do what the rule waits for?"""
    return any(_happened(event, commit, columns) for event in rule.when)


def _happened(event: str, commit: Commit, columns: Sequence[str]) -> bool:
    word, _, listed = event.partition(" ")
    if word == "inserted":
        return any(one.old is None for one in commit.changes)
    if word == "deleted":
        return any(one.new is None for one in commit.changes)
    meant = [name.strip() for name in listed.split(",")] if listed else columns
    places = [list(columns).index(name) for name in meant]
    return any(
        _distinct(one.old[place], one.new[place])
        for one in commit.changes
        if one.old is not None and one.new is not None
        for place in places
    )


def _distinct(one: Any, other: Any) -> bool:
    """IS DISTINCT FROM."""
    if one is None or other is None:
        return one is not other
    return bool(one != other)


class Evaluator:
    """Shows commits to rules; ``seen`` are the commits of each table so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.seen: dict[str, list[Commit]] = {name: [] for name in program.tables}
        self.duckdb = duckdb.connect(config={"threads": 1})
        self.duckdb.execute("CREATE MACRO unix_micros(s) AS epoch_us(s)")

    def fire(self, rule: Rule, commit: Commit) -> Firing | None:
        """What a rule makes of a commit."""
        columns = list(self.changed(rule))
        if rule.log is not None:
            columns.remove(rule.log.transaction)
        if not commit.changes or not triggers(rule, commit, columns):
            return None
        self.show(rule, commit)
        if not all(self.ask(rule, name).rows for name in rule.deciding):
            return None
        return Firing(rule, commit, {name: self.ask(rule, name) for name in rule.bound})

    def changed(self, rule: Rule) -> Mapping[str, str]:
        """The columns of the changed rows."""
        columns = self.program.tables[rule.on].columns
        return columns if rule.log is None else columns_of_changes(rule.log, columns)

    def columns(self, rule: Rule) -> dict[str, tuple[str, ...]]:
        """By bound table: its columns."""
        self.show(rule, None)
        return {name: self.ask(rule, name).columns for name in rule.bound}

    def show(self, rule: Rule, commit: Commit | None) -> None:
        """Let the tables be as they are at the commit; None: empty."""
        shape = self.changed(rule)
        transitions = {} if commit is None else transition_rows(commit)
        for name in TRANSITIONS:
            self.fill(name, {**shape, **ADDED}, transitions.get(name, []))
        for name, table in self.program.tables.items():
            self.fill(name, table.columns, [] if commit is None else self.state(name, commit))

    def fill(self, name: str, columns: Mapping[str, str], rows: Iterable[Row]) -> None:
        """Make a table of DuckDB."""
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        self.duckdb.execute(f"CREATE OR REPLACE TABLE {name} ({listed})")
        for row in rows:
            marks = ", ".join("?" * len(row))
            self.duckdb.execute(f"INSERT INTO {name} VALUES ({marks})", list(row))

    def state(self, name: str, commit: Commit) -> list[Row]:
        """The rows of a table at a commit: of its own at that version, of another one at its last
        version that was made by then."""
        if commit.transaction and name == commit.table:
            return list(commit.there)
        there: Counter[Row] = Counter()
        for one in self.seen[name]:
            own = name == commit.table
            if one.version > commit.version if own else one.time > commit.time:
                break
            for change in one.changes:
                if change.old is not None:
                    there[change.old] -= 1
                if change.new is not None:
                    there[change.new] += 1
        assert all(number >= 0 for number in there.values()), (name, there)
        return list(there.elements())

    def ask(self, rule: Rule, name: str) -> Bound:
        """The answer to a query of the rule, over the tables as they are shown."""
        found = self.duckdb.execute(rule.text(name).replace("{s}.", ""))
        columns = tuple(str(one[0]) for one in found.description or ())
        return Bound(columns, tuple(found.fetchall()))
