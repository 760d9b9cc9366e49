"""Finds how far a continuous model has run, by its table and the state alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.noted_runs import brought_up
from tapestry.runs.tables.state import readable
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import commits_after, landed, look


@dataclass(frozen=True)
class Reached:
    """The position up to which a model has run.

    until
        The end of the newest window that its table holds; None where there is none.
    begun
        The end of the window of a run that was claimed and has not landed, else None. The next run
        completes that one first, whatever instant is asked of it.
    """

    until: datetime | None = None
    begun: datetime | None = None

    def behind(self, instant: datetime) -> bool:
        """Return whether a run still has to bring the model to an instant.

        Not to one inside a window that was begun: a run to there would end beyond it.
        """
        if self.begun is not None and instant < self.begun:
            return False
        return self.until is None or self.until < instant


def reached(
    session: Session, relation: str, table: str, states: Mapping[str, StateRow | OddRow] | None
) -> Reached:
    """Return how far a model has run; ``states`` is `read_states` of the state ``table``.

    A run whose checks failed does not count: the next one goes on from before it. Raises
    StateUnreadable for a row that no run has written.
    """
    target = look(session, relation)
    row = None if target is None else readable((states or {}).get(target.generation or ""))
    if row is None:
        return Reached()
    commits = commits_after(session, relation, row.target.version)
    found = brought_up(session, table, row, commits)
    row = found.row
    if row.n == 1:
        return Reached(row.after.t)  # the statement that made the generation is its first run
    if row.failed_at is not None or found.taken:
        return Reached(row.since)
    commit = landed(commits, row.generation, row.n)
    if commit is None:
        return Reached(row.since, begun=row.after.t)
    return Reached(row.since if commit.failed else row.after.t)
