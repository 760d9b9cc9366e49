"""Who examines what: a run, and a source between two pins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.kinds.continuous.late.fingerprints import Fingerprint
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin


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
    stored
        The source's fingerprint of the rows with ts <= τ, where it kept one.
    """

    table: DeltaSource
    arrival: str | None
    last_pin: Pin | None
    pin: Pin
    looks_back: bool = False
    stored: Fingerprint | None = None
