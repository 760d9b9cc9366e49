"""The subject of a comparison: the rows of a run, and the part of them that is compared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.verification.restriction import Range


@dataclass(frozen=True)
class RunRows:
    """The rows of a run, and the instants that count for them.

    relation
        What may stand behind FROM: the select list, ``_matched_at``, ``_key``.
    start
        The first instant that counts: the begin of time, or the model's.
    tau
        The end of the run before; None: there was none.
    """

    relation: str
    start: datetime
    tau: datetime | None
    t: datetime

    @property
    def last(self) -> datetime | None:
        """The last instant of the runs before; None if no earlier instant counts."""
        return None if self.tau is None or self.tau < self.start else self.tau


@dataclass(frozen=True)
class Chosen:
    """The part of the rows and instants that a comparison covers.

    instants
        Given ones.  ``found_instants`` finds others: the ``_matched_at`` of so many new rows
        (``picks``).
    elsewhere
        ``found_instants`` finds so many new rows outside of the ranges, too.
    ranges
        Of the driving table; () is all of it.
    after
        Lists go on after this id (``keys.of_values`` and ``_key``).
    turn_rows
        See ``Restriction``.
    counted
        How many pairs were looked at and how many are wrong, instead of a list of these.
    """

    instants: tuple[datetime, ...]
    picks: int = 0
    ranges: tuple[Range, ...] = ()
    seed: str = ""
    after: str = ""
    counted: bool = False
    elsewhere: int = 0
    turn_rows: str = ""
