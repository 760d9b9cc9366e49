"""Models that are to run before their tick, because a table that they read has a new version.

A run tells which versions it read.  Delta names the commit of version n+1 before anybody reads it,
so that one look whether that file is there says whether something has changed: no dbt, no Spark.
Tables whose log is not a folder of this machine are not looked at: their models run at their ticks.
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


@dataclass
class Wakes:
    """The tables that each model reads which is woken, and at which versions it last did.

    reads
        Model -> the tables that it reads, through views too.
    """

    reads: Mapping[str, Collection[str]] = field(default_factory=dict)
    seen: dict[str, Versions] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def note(self, model: str, versions: Versions, now: float) -> None:
        """Take in which versions a run of a model has read, which ends now."""
        wanted = self.reads.get(model, ())
        self.seen[model] = {name: versions[name] for name in wanted if name in versions}
        self.ended[model] = now

    def moved(self, model: str, now: float, seconds: float | None) -> bool:
        """Has a table moved that a model reads? Not sooner than a run takes, if that is known."""
        pause = max(PAUSE, seconds or 0.0)
        if now - self.ended.get(model, now) < pause:
            return False
        return any(_has_next(place, version) for place, version in self.seen[model].values())


def _has_next(place: str, version: int) -> bool:
    """Is there the commit after a version, in a log on this machine?"""
    parts = urlsplit(place)
    if parts.scheme not in ("", "file") or parts.netloc:
        return False
    return exists(f"{unquote(parts.path)}/_delta_log/{version + 1:020d}.json")
