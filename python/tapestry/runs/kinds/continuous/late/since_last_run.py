"""The input of the examination of one source since the last run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.instants import MICRO
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class AskingRun:
    """Run ``n`` of a generation of ``target``, for which a source is examined.

    tau
        That of the last run that landed; None at first.
    failed
        Runs of the generation that were closed without rows.
    rewound
        The generation began with a rewind.
    """

    target: str
    generation: str
    n: int
    tau: datetime | None
    failed: tuple[int, ...] = ()
    rewound: bool = False


@dataclass(frozen=True)
class PinnedSource:
    """A source between two pins.

    last_pin
        What the last run that landed read; None at first, and for a source that the query did not
        read before.
    looks_back
        A row that is gone still decides which answers are new (``Rewriting.looks_back_at``), so it
        is kept with its end.
    """

    table: DeltaSource
    arrival: str | None
    last_pin: Pin | None
    pin: Pin
    looks_back: bool = False


@dataclass(frozen=True)
class Since:
    """A source, the pin and the τ of the last run, and the pin of this one."""

    session: Session
    table: DeltaSource
    arrival: Column | None
    last: Pin
    pin: Pin
    tau: datetime
    rules: ContinuousConfig

    @property
    def late_arrival(self) -> datetime:
        """The arrival of this window's late rows: the first instant after τ."""
        return self.tau + MICRO

    @property
    def grave_until(self) -> datetime:
        """The greatest ts of late rows that arrive ``late_after`` or more behind it."""
        return self.late_arrival - self.rules.late_after
