"""The seconds of a run, by the part in which they went."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

PARTS = ("plan", "claim", "rows", "commit", "confirm")
"""plan: what is to be done; claim: the run gets its number; rows: they are computed and checked;
commit: they are written into the table; confirm: the state says that they are there."""


@dataclass
class Stopwatch:
    """Measures one part after the other.

    parts
        Seconds by name, of those that have ended.
    """

    began: float = field(default_factory=monotonic)
    parts: dict[str, float] = field(default_factory=dict)

    def end(self, part: str) -> None:
        """Note a part: all that was not noted yet went into it."""
        before = sum(seconds for name, seconds in self.parts.items() if name != "plan")
        self.parts[part] = self.seconds - before

    @property
    def seconds(self) -> float:
        """Seconds since it began; the plan was made before that."""
        return monotonic() - self.began
