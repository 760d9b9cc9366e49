"""Counts faults of loaded messages by kind, and describes the first of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tapestry.mail.dates import Date

Kind = Literal["lines", "dates", "assumed", "authors", "ids"]

NAMED = 10
"""Messages of a mailbox that are named for each kind; there can be millions."""
_ID = 100


class Doubt(NamedTuple):
    """A fault of a message.

    ``lines``: a line of its headers is wrong; ``dates``: a time cannot be read; ``assumed``: a time
    was read, with an assumption; ``authors``: its author is doubtful or unknown; ``ids``: its
    id is, or that of the message that it answers.
    """

    kind: Kind
    what: str


def doubts_of_date(which: str, date: Date) -> list[Doubt]:
    """Return the doubts about a date, if any."""
    kind: Kind = "assumed" if date.instant else "dates"
    return [Doubt(kind, f"{which} {date.doubt}")] if date.doubt else []


@dataclass
class Doubts:
    """The number of messages with doubts of each kind, and the first doubts in words."""

    counts: dict[Kind, int] = field(
        default_factory=lambda: {"lines": 0, "dates": 0, "assumed": 0, "authors": 0, "ids": 0}
    )
    named: list[str] = field(default_factory=list)

    def add(self, message: str, place: int, doubts: tuple[Doubt, ...]) -> None:
        """Count the doubts of a message."""
        name = message if len(message) <= _ID else message[:_ID] + "…"
        for kind in dict.fromkeys(doubt.kind for doubt in doubts):
            self.counts[kind] += 1
            if self.counts[kind] <= NAMED:
                what = "; ".join(doubt.what for doubt in doubts if doubt.kind == kind)
                self.named.append(f"{name} (archive_seq {place}): {what}")
