"""What all steps of planning a run share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.known.known_before import KnownBefore
from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.query import Query, read_query
from tapestry.runs.kinds.continuous.window.over_memories import untimely
from tapestry.runs.memories.ask import Asking, MemoryRequest, read_memories
from tapestry.runs.model.model import Model
from tapestry.runs.run.plan import Figures
from tapestry.runs.run.standing import Standing
from tapestry.runs.sources.pins import Pins
from tapestry.sql import Window


@dataclass(frozen=True)
class Planning:
    """One model, where it stands, and who asks."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing

    @property
    def known(self) -> KnownBefore:
        """What tells what a run knows of those before it."""
        state = self.invocation.state_table
        return KnownBefore(self.session, self.model, self.standing, state)

    def query(self, sql: str, begin: datetime | None, pins: Pins | None = None) -> Query:
        """A text as this invocation reads it."""
        return read_query(self.session, self.model, self.invocation, sql, begin, pins)

    def requests(
        self,
        query: Query,
        window: Window,
        found: Mapping[str, Examination],
        plain: Query | None = None,
    ) -> tuple[MemoryRequest, ...]:
        """What a run over a window asks of memories; ``plain`` as in ``Asking``."""
        model, invocation, again = self.model, self.invocation, self.standing.crashed
        asking = Asking(self.session, model, invocation, query, window, again, plain)
        return read_memories(asking, untimely(found))


def figures_of(
    strategy: str, found: Mapping[str, Examination], limits: Mapping[str, datetime]
) -> Figures:
    """What is told of a run over these sources."""
    return Figures(
        strategy,
        sum(one.late_rows for one in found.values()),
        sum(one.null_rows for one in found.values()),
        min(limits.values(), default=None),
    )
