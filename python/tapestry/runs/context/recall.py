"""Facts that a warm process remembers between invocations, so that idle ones cost little.

All of it can be found again; each entry is keyed by what it was found from. A table is recognized
by DESCRIBE DETAIL, which costs no Spark job: two commits of one table never have the same time, for
each takes longer than a millisecond and Delta lets them through one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from tapestry.runs.context.quiet import QuietTimes
from tapestry.runs.engine.glance import Glance
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Rewriting

SIZE = 10_000
CHANGES = 200
T = TypeVar("T")


@dataclass(frozen=True)
class KnownTarget:
    """A target in a certain state: its newest run, which has landed, and its newest version."""

    target: Glance
    row: StateRow
    version: int


@dataclass
class Recall:
    """Facts of earlier invocations of this process; threads may share it.

    claims
        The version of each state table up to which no claim of another process was overlooked:
        none of the known targets has an unknown claim below it.
    quiet
        Up to when nothing happens to a model unless a source changes.
    """

    claims: dict[str, Pin] = field(default_factory=dict)
    quiet: QuietTimes = field(default_factory=QuietTimes)
    _targets: dict[str, KnownTarget] = field(default_factory=dict)
    _sources: dict[tuple[str, str], tuple[Glance, Pinned]] = field(default_factory=dict)
    _looked: dict[tuple[str, int], StateRow] = field(default_factory=dict)
    _rewritings: dict[Hashable, Rewriting] = field(default_factory=dict)
    _analysed: dict[Hashable, bool] = field(default_factory=dict)
    _changes: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether no target is known yet."""
        return not self._targets

    def known(self, target: Glance) -> KnownTarget | None:
        """Return the newest run of a target that is unchanged, without foreign commits."""
        known = self._targets.get(target.name)
        return known if known is not None and known.target.same_as(target) else None

    def note(self, known: KnownTarget) -> None:
        """Note a run that has landed; the target's log was checked up to a version."""
        self._targets[known.target.name] = known

    def forget(self, name: str) -> None:
        """Forget a target, of which another run is or was under way: it is looked at again."""
        self._targets.pop(name, None)

    def forget_claimed(self, newest: Mapping[str, int], looked_at: Collection[str] | None) -> None:
        """Forget targets of which a run has been claimed that comes after the one that is known.

        newest
            The greatest number claimed, by generation.
        looked_at
            The generations of which that is known; None: it is known of all.
        """
        for name, known in list(self._targets.items()):
            generation = known.row.generation
            unknown = looked_at is not None and generation not in looked_at
            if unknown or newest.get(generation, 0) > known.row.n:
                self.forget(name)

    def looked(self, last: StateRow) -> StateRow:
        """Return the run that last looked for answers after a model's last run and found none.

        Such a run left no trace; where there was none, the last run itself is returned.
        """
        return self._looked.get((last.generation, last.n), last)

    def note_looked(self, row: StateRow) -> None:
        """Note a run that found nothing and was not claimed: the next one has the same n."""
        _bound(self._looked)
        self._looked[(row.generation, row.n - 1)] = row

    def source(self, name: str, zone: str, now: Glance) -> Pinned | None:
        """Return a source as it is now, from its description in a session of this zone.

        None where it has had a commit since, unless that left its definition unchanged: then only
        its version, size and time differ.
        """
        known = self._sources.get((name, zone))
        if known is None:
            return None
        then, pinned = known
        if then.same_as(now):
            return pinned
        if now.version is None or not now.definition or then.definition != now.definition:
            return None
        changed = datetime.fromisoformat(now.last_commit)
        table = replace(pinned.table, size=now.size, changed=changed)
        return Pinned(table, Pin(pinned.pin.table_id, now.version))

    def note_source(self, name: str, zone: str, then: Glance, pinned: Pinned) -> None:
        """Note the description of a source; ``then`` was read before ``pinned``."""
        self._sources[(name, zone)] = (then, pinned)

    def rewriting(self, key: Hashable) -> Rewriting | None:
        """Return the rewriting of a query over a catalog, if this process made it before."""
        return self._rewritings.get(key)

    def note_rewriting(self, key: Hashable, rewriting: Rewriting) -> None:
        """Keep a rewriting."""
        _bound(self._rewritings)
        self._rewritings[key] = rewriting

    def change(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what happened to a source between two of its versions, found once.

        Models that ran together last time ask the same about it. If two threads ask at once, both
        look.
        """
        if key not in self._changes:
            found = find()
            _bound(self._changes, CHANGES)
            self._changes[key] = found
            return found
        known: T = self._changes[key]
        return known

    def analysed(self, key: Hashable) -> bool:
        """Return whether the engine accepted these conditions over this query before."""
        return key in self._analysed

    def note_analysed(self, key: Hashable) -> None:
        """Note that the engine accepts these conditions."""
        _bound(self._analysed)
        self._analysed[key] = True


def _bound(known: dict[Any, Any], size: int = SIZE) -> None:
    if len(known) >= size:
        known.clear()
