"""The rows of the answer that an expectation keeps out of the table (`on_violation: drop`).

The table holds the rows of Q(t) that fit, ``<model>__rejected`` the others. A run that changes the
latter writes all of them under its n before it commits, and its state row says so: those of that n
are in force once it has landed, and those of earlier runs are removed. A run that is killed before
that leaves rows of an n that never landed, one that is killed after it rows of earlier runs; the
next run removes either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tapestry.runs.checks.rejected import outdated, remove_outdated, rows_of_run
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.declared import Declared
from tapestry.runs.protocol.plan import Leftover
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.tables.state_row import StateRow

OWN = "rejected"
"""Names in the state row the run whose rejected rows are in force."""


@dataclass(frozen=True)
class RejectedRows:
    """The rejected rows of a model with these expectations."""

    session: Session
    declared: Declared

    def own(self, since: int) -> dict[str, Any]:
        """Return an object for the state row: run ``since`` wrote the rows that are in force."""
        return {OWN: since} if self.declared.drops else {}

    def since(self, row: StateRow) -> int:
        """Return the run whose rejected rows are in force after a run."""
        return int(row.after.own.get(OWN, 0))

    def of(self, row: StateRow) -> str:
        """Return the rows in force after a run, as they stand behind FROM; "": none are."""
        if not self.declared.drops:
            return ""
        return rows_of_run(self.session, row, self.since(row))

    def leftover(self, standing: Standing) -> Leftover | None:
        """Return the leftover of a run that was killed after it had landed; None: nothing.

        A process that knows the table has seen that run to its end.
        """
        row = standing.row
        if row is None or standing.warm or not self.declared.drops:
            return None
        since = self.since(row)
        if not outdated(self.session, row, since):
            return None
        return Leftover(row, partial(_remove, since))


def _remove(since: int, session: Session, row: StateRow) -> None:
    remove_outdated(session, row, since)
