"""What a warm process remembers between invocations, so that nothing new costs next to nothing.

All of it can be computed again; each entry is keyed by what it was computed from.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tapestry.runs.target import Target
from tapestry.sql import Rewriting

SIZE = 10_000


@dataclass
class Memory:
    """Facts of earlier invocations of this process."""

    _landed: dict[str, tuple[Target, int, int]] = field(default_factory=dict)
    _quiet: dict[Hashable, datetime | None] = field(default_factory=dict)
    _rewritings: dict[Hashable, Rewriting] = field(default_factory=dict)

    def landed(self, target: Target, n: int) -> int | None:
        """The target's version, if n was found in this very state of it and nothing foreign."""
        known = self._landed.get(target.name)
        return known[2] if known is not None and known[:2] == (target, n) else None

    def note_landed(self, target: Target, n: int, version: int) -> None:
        """n has landed, and the target's log was looked at up to ``version``."""
        self._landed[target.name] = (target, n, version)

    def quiet(self, key: Hashable) -> tuple[bool, datetime | None]:
        """Is it known until when nothing happens by time alone, and until when (None: for ever)?"""
        return (key in self._quiet, self._quiet.get(key))

    def note_quiet(self, key: Hashable, until: datetime | None) -> None:
        """Nothing becomes an answer before ``until`` unless a source changes."""
        _bound(self._quiet)
        self._quiet[key] = until

    def rewriting(self, key: Hashable) -> Rewriting | None:
        """The rewriting of a query over a catalog, if this process made it before."""
        return self._rewritings.get(key)

    def note_rewriting(self, key: Hashable, rewriting: Rewriting) -> None:
        """Keep a rewriting."""
        _bound(self._rewritings)
        self._rewritings[key] = rewriting


def _bound(known: dict[Hashable, Any]) -> None:
    if len(known) >= SIZE:
        known.clear()
