"""Reads rules as they stand: how far each has looked at its table, and its bound tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapestry.quoting import Sql, identifier, relation_name, string
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.bound_rows import BOUND, TABLE, N
from tapestry.runs.tables.kept import MARKS, Marks, kept_name
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import commits_after, look, newest_commits

RULE = "rule"


@dataclass(frozen=True)
class BoundHere:
    """A bound table of a rule: its name, its columns with types, and which rows count."""

    name: str
    columns: Mapping[str, str]
    counts: Sql

    def named(self, wanted: Sequence[str]) -> list[str]:
        """Return columns as they are written there; [] where it lacks one of them."""
        names = {column.lower(): column for column in self.columns}
        found = [names[one.lower()] for one in wanted if one.lower() in names]
        return found if len(found) == len(wanted) else []

    @property
    def relation(self) -> str:
        """Return the rows that count, as they stand behind FROM."""
        return f"(SELECT * FROM {relation_name(self.name)} WHERE {self.counts})"


@dataclass(frozen=True)
class RuleStanding:
    """A rule as it stands.

    n
        Its last run that has landed; ``failed`` those before it that were closed without rows.
    table
        The table that it looks at; ``positions`` its version at the end of each run still known.
    """

    relation: str
    generation: str
    n: int
    failed: tuple[int, ...]
    table: str
    positions: Mapping[int, Pin]
    bound: tuple[BoundHere, ...]

    @property
    def position(self) -> Pin:
        """The version up to which it has looked."""
        return self.positions[self.n]

    @property
    def firings(self) -> Sql:
        """The condition that a firing counts."""
        own = Marks(identifier("generation"), identifier("n"))
        return own.counts(self.generation, self.n, self.failed, own=True)


def standing_rule(session: Session, state_table: str, relation: str) -> RuleStanding | None:
    """Return a rule as it stands; None where it is gone, or its state does not tell."""
    target = look(session, relation)
    if target is None or target.generation is None or target.kind != RULE:
        return None
    runs = runs_of(session, state_table, target.generation)
    n = landed_run(session, relation, target.generation)
    last = next((run for run in reversed(runs) if run.n <= n), None)
    if last is None:
        return None
    own = last.after.own
    table = str(own.get(TABLE, ""))
    positions = _positions(runs, n, table)
    if n not in positions:
        return None
    failed = runs[-1].failed
    bound = tuple(
        _bound(session, relation, str(name), place, (target.generation, n, failed))
        for place, name in enumerate(own.get(BOUND, ()))
    )
    return RuleStanding(relation, target.generation, n, failed, table, positions, bound)


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


def _bound(
    session: Session, relation: str, name: str, place: int, run: tuple[str, int, tuple[int, ...]]
) -> BoundHere:
    marks, table = Marks(Sql(string(run[0])), identifier(N)), relation
    if place:
        marks, table = MARKS, kept_name(relation, f"__{name}")
    return BoundHere(table, dict(columns_of_table(session, table)), marks.counts(*run, own=True))
