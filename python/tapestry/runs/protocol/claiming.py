"""Planned to Claimed: the run's n is taken, at once or while its rows are computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, meanwhile
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.states import Claimed
from tapestry.runs.tables.state import claim


class ClaimLostError(Exception):
    """Another run has claimed the same n: nothing of this one was written."""


@contextmanager
def claiming(session: Session, planned: Planned, invocation: Invocation) -> Iterator[Claimed]:
    """Claim the run's n; the claim is decided when the context is left.

    The rows of a run that writes nothing before its commit are private until then: so the state
    needs its row only when it commits. Raises ClaimLostError.
    """
    row, circumstances = planned.row, planned.circumstances

    def take() -> bool:
        if not circumstances.again and not claim(session, invocation.state_table, row):
            return False
        invocation.states.claimed(row)
        crash.point("claimed")
        return True

    with meanwhile(session, take, wanted=planned.claims_beside) as taken:

        def sure() -> None:
            if not taken():
                raise ClaimLostError

        if not planned.claims_beside:
            sure()
        if not circumstances.warm and row.n > 1 and not circumstances.again:
            rejected.tidy(session, row.model, row.generation, row.n - 1, circumstances.attempt)
        yield Claimed(planned, sure)
