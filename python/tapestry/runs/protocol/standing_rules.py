"""Reads rules as they stand: how far each has looked at its table, and its bound tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tapestry.quoting import Sql, identifier, relation_name, string
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.action_batch import ActionLife, Cut
from tapestry.runs.tables.bound_rows import ADDED_BY_US, BOUND, FIRING, SHOWN, TABLE, N
from tapestry.runs.tables.firings import MARKS as FIRING_MARKS
from tapestry.runs.tables.kept import GENERATION, MARKS, NUMBER, Marks, kept_name
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import commits_after, generation_of, newest_commits

RULE = "rule"


@dataclass(frozen=True)
class BoundTable:
    """A bound table of a rule: its name, and the columns that are bound.

    beside
        It stands beside the rule's own table, and marks the run that wrote each row.
    """

    name: str
    table: str
    columns: tuple[tuple[str, str], ...]
    beside: bool

    def has(self, wanted: Sequence[str]) -> list[str]:
        """Return those of some columns that the table has, as they are written there."""
        names = {name.lower(): name for name, _ in self.columns}
        return [names[one.lower()] for one in wanted if one.lower() in names]

    def named(self, wanted: Sequence[str]) -> list[str]:
        """Return columns as they are written there; [] where it lacks one of them."""
        found = self.has(wanted)
        return found if len(found) == len(wanted) else []

    def counting(self, cut: Cut) -> Sql:
        """Return the condition that a row was written by a run up to that of a cut."""
        if self.beside:
            return MARKS.counts(cut.generation, cut.n, cut.failed, own=True)
        own = Marks(string(cut.generation), identifier(N))
        return own.counts(cut.generation, cut.n, cut.failed, own=True)

    def rows(self, cut: Cut, more: str = "") -> str:
        """Return a SELECT of the rows of a cut that an action sees."""
        names = [identifier(name) for name, _ in self.columns]
        return f"SELECT {', '.join([*names, *SHOWN])} FROM {self.within(cut, more)}"

    def within(self, cut: Cut, more: str = "") -> str:
        """Return the table with the condition that a row is of a cut, as it stands behind FROM."""
        return (
            f"{relation_name(self.table)} WHERE {self.counting(cut)}"
            f" AND {FIRING} > {cut.after:d} AND {FIRING} <= {cut.until:d}{more}"
        )


@dataclass(frozen=True)
class RuleStanding:
    """A rule as it stands.

    n
        Its last run that has landed; ``failed`` those before it that were closed without rows.
    table
        The table that it looks at.
    """

    relation: str
    generation: str
    n: int
    failed: tuple[int, ...]
    table: str
    bound: Mapping[str, BoundTable]

    def cut(self, after: int, until: int) -> Cut:
        """Return its firings after one up to another."""
        return Cut(self.generation, self.n, after, until, self.failed)

    @property
    def firings(self) -> Sql:
        """The condition that a firing counts."""
        return FIRING_MARKS.counts(self.generation, self.n, self.failed, own=True)

    def begin_in(self, life: ActionLife) -> int:
        """Return the firing after which its firings belong to a life of an action."""
        generation, number = life.begin.get(self.relation, ("", -1))
        return number if generation == self.generation else -1


@dataclass(frozen=True)
class RulePositions(RuleStanding):
    """A rule with the version of its table at the end of each run that is still known."""

    positions: Mapping[int, Pin]

    @property
    def position(self) -> Pin:
        """The version up to which it has looked."""
        return self.positions[self.n]

    def rows_of(self, table: BoundTable) -> str:
        """Return the rows of a bound table that count, as they stand behind FROM."""
        counts = table.counting(self.cut(-1, -1))
        return f"(SELECT * FROM {relation_name(table.table)} WHERE {counts})"


def standing_rule(session: Session, state_table: str, relation: str) -> RulePositions | None:
    """Return a rule as it stands; None where it is gone, or its state does not tell."""
    generation = generation_of(session, relation, RULE)
    if generation is None:
        return None
    runs = runs_of(session, state_table, generation)
    n = landed_run(session, relation, generation)
    last = next((run for run in reversed(runs) if run.n <= n), None)
    if last is None:
        return None
    own = last.after.own
    table = str(own.get(TABLE, ""))
    positions = _positions(runs, n, table)
    if n not in positions:
        return None
    bound, failed = bound_tables(session, relation, own), runs[-1].failed
    return RulePositions(relation, generation, n, failed, table, bound, positions)


def _positions(runs: Sequence[StateRow], n: int, table: str) -> dict[int, Pin]:
    found: dict[int, Pin] = {}
    for run in runs:
        if run.before is not None and table in run.before.pins:
            found.setdefault(run.n - 1, run.before.pins[table])
        if run.failed_at is None and table in run.after.pins:
            found[run.n] = run.after.pins[table]
    return {number: pin for number, pin in found.items() if number <= n}


def landed_run(session: Session, relation: str, generation: str) -> int:
    """Return the last run of a rule whose rows are there; 0: none is.

    A run that was closed has a commit, too, under its number, and no rows.
    """
    for commits in (newest_commits(session, relation), commits_after(session, relation, -1)):
        ours = (one for one in commits if one.generation == generation and not one.failed)
        numbers = [one.n for one in ours if one.n is not None]
        if numbers:
            return max(numbers)
    return 0


def bound_tables(session: Session, relation: str, own: Mapping[str, Any]) -> dict[str, BoundTable]:
    """Return the bound tables of a rule by name, from what it keeps of its own."""
    found = {}
    for place, name in enumerate(map(str, own.get(BOUND, ()))):
        hidden, table = set(ADDED_BY_US), relation
        if place:
            hidden, table = hidden | {GENERATION, NUMBER}, kept_name(relation, f"__{name}")
        described = columns_of_table(session, table)
        columns = tuple(column for column in described if column[0] not in hidden)
        found[name] = BoundTable(name, table, columns, beside=place > 0)
    return found
