"""The state and helpers that all steps of planning a run share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.runs.context.clock import Clock, far_ahead
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.known.known_before import KnownBefore
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.query import Query, read_query
from tapestry.runs.kinds.continuous.window.new_answers import untimely
from tapestry.runs.memories.ask import Asking, MemoryRequest, read_memories
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Figures, Planned
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.sources.pins import Pins
from tapestry.sql import Window


@dataclass(frozen=True)
class Planning:
    """A model, its standing, and the session and invocation that plan its run."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing

    @property
    def known(self) -> KnownBefore:
        """The object that finds out what a run knows of earlier ones."""
        state = self.invocation.state_table
        return KnownBefore(self.session, self.model, self.standing, state)

    def query(self, sql: str, begin: datetime | None, pins: Pins | None = None) -> Query:
        """Return a text as this invocation reads it."""
        return read_query(self.session, self.model, self.invocation, sql, begin, pins)

    def requests(
        self,
        query: Query,
        window: Window,
        found: Mapping[str, Examination],
        plain: Query | None = None,
    ) -> tuple[MemoryRequest, ...]:
        """Return the requests to memories of a run over a window; ``plain`` as in ``Asking``."""
        config: ContinuousConfig = self.model.config.own
        asking = Asking(
            self.session,
            self.model,
            self.invocation,
            query,
            window,
            again=self.standing.crashed,
            later=query.begin != config.begin,
            plain=plain,
        )
        return read_memories(asking, untimely(found))


def figures_of(strategy: str, found: Mapping[str, Examination]) -> Figures:
    """Return the figures to report about a run over these sources."""
    late = sum(one.rows.late for one in found.values())
    return Figures(strategy, late, sum(one.rows.null for one in found.values()))


def bounded(
    planned: Planned,
    clock: Clock,
    query: Query,
    horizons: tuple[Mapping[str, datetime], Sequence[str]],
) -> Planned:
    """Return the plan with warnings on its window's end: by upstream models, and by the clock."""
    limits, warnings = horizons
    told = planned.told
    warnings = (*warnings, *told.warnings, *far_ahead(clock, planned.t, query.commits))
    figures = replace(told.figures, horizon=min(limits.values(), default=None))
    return replace(planned, told=replace(told, warnings=warnings, figures=figures))
