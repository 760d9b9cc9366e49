"""Wakes models before their tick, when a table that they read has changed or an action is due.

A run tells which versions it read.  Delta names the commit of version n+1 before anybody reads it,
so that one look whether that file is there says whether something has changed: no dbt, no Spark.
Tables whose log is not a folder of this machine are not looked at: their models run at their ticks.

After each invocation with a rule or an action somebody has looked when each action's first batch is
released, or tried again: at that instant the action runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from os.path import exists
from urllib.parse import unquote, urlsplit

Versions = Mapping[str, tuple[str, int]]
"""A table -> where it lies, and the version that was read."""
PAUSE = 1.0
"""Seconds between the end of a run and a wake, at least."""
LATER = 0.05
"""Seconds after its release at which a batch is due for sure, whichever clock is asked."""


@dataclass
class Wakes:
    """The tables that each woken model reads, with the versions it read last.

    reads
        Model -> the tables that it reads, through views too.
    due
        Action -> when its first batch is due.
    """

    reads: Mapping[str, Collection[str]] = field(default_factory=dict)
    seen: dict[str, Versions] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)

    def note(self, model: str, versions: Versions, now: float) -> None:
        """Store the versions that a run of a model, which ends now, has read."""
        wanted = self.reads.get(model, ())
        self.seen[model] = {name: versions[name] for name in wanted if name in versions}
        self.ended[model] = now

    def moved(self, model: str, now: float, seconds: float | None) -> bool:
        """Return whether a table of a model has changed; False until a run's length after its
        run.
        """
        pause = max(PAUSE, seconds or 0.0)
        if now - self.ended.get(model, now) < pause:
            return False
        return any(_has_next(place, version) for place, version in self.seen[model].values())

    def note_due(self, model: str, within: float | None, now: float) -> None:
        """Store in how many seconds an action is due; None: nothing waits."""
        if within is None:
            self.due.pop(model, None)
        else:
            self.due[model] = now + within + LATER

    def wakes_at(self, model: str, failed: bool) -> float | None:
        """Return when an action runs before its tick; None: at its tick.

        Not sooner than a pause after its last run: what was due then, another process is at. After
        a run that failed only what becomes due later wakes it.
        """
        at, ended = self.due.get(model), self.ended.get(model)
        if at is None or ended is None:
            return at
        if failed and at <= ended:
            return None
        return max(at, ended + PAUSE)


def _has_next(place: str, version: int) -> bool:
    """Return whether the log on this machine has the commit after a version."""
    parts = urlsplit(place)
    if parts.scheme not in ("", "file") or parts.netloc:
        return False
    return exists(f"{unquote(parts.path)}/_delta_log/{version + 1:020d}.json")
