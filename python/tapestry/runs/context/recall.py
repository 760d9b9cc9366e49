"""What a warm process remembers between invocations, so that nothing new costs next to nothing.

All of it can be found again; each entry is keyed by what it was found from. A table is recognized
by DESCRIBE DETAIL, which costs no Spark job: two commits of one table never have the same time, for
each takes longer than a millisecond and Delta lets them through one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

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
    """Facts of earlier invocations of this process; threads may share it."""

    _targets: dict[str, KnownTarget] = field(default_factory=dict)
    _sources: dict[tuple[str, str], tuple[Glance, Pinned]] = field(default_factory=dict)
    _looked: dict[tuple[str, int], StateRow] = field(default_factory=dict)
    _quiet: dict[Hashable, datetime | None] = field(default_factory=dict)
    _rewritings: dict[Hashable, Rewriting] = field(default_factory=dict)
    _analysed: dict[Hashable, bool] = field(default_factory=dict)
    _changes: dict[Hashable, Any] = field(default_factory=dict)

    def known(self, target: Glance) -> KnownTarget | None:
        """The newest run of a target that is still as it was, nothing foreign in its log."""
        known = self._targets.get(target.name)
        return known if known is not None and known.target.same_as(target) else None

    def note(self, known: KnownTarget) -> None:
        """A run has landed, and the target's log was looked at up to a version."""
        self._targets[known.target.name] = known

    def forget(self, name: str) -> None:
        """Another run of this target is or was under way: look again."""
        self._targets.pop(name, None)

    def looked(self, last: StateRow) -> StateRow:
        """How far a model is known to have no answer after its last run: the run that looked.

        It left no trace; where there was none, the last run itself.
        """
        return self._looked.get((last.generation, last.n), last)

    def note_looked(self, row: StateRow) -> None:
        """A run found nothing, and was not claimed: its n is still that of the next one."""
        _bound(self._looked)
        self._looked[(row.generation, row.n - 1)] = row

    def source(self, name: str, zone: str, now: Glance) -> Pinned | None:
        """A source as it was described in a session of this zone, as it is now.

        None where it has had a commit since, unless that left its definition as it was: then only
        its version, size and time are others.
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
        """What a source looked like; ``then`` was read before ``pinned``."""
        self._sources[(name, zone)] = (then, pinned)

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

    def change(self, key: Hashable, find: Callable[[], T]) -> T:
        """What happened to a source between two of its versions: found once, then remembered.

        Models that ran together last time ask the same of it. Of two threads that ask at once both
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
        """Did the engine accept these conditions over this query before?"""
        return key in self._analysed

    def note_analysed(self, key: Hashable) -> None:
        """The engine accepts these conditions."""
        _bound(self._analysed)
        self._analysed[key] = True


def _bound(known: dict[Any, Any], size: int = SIZE) -> None:
    if len(known) >= size:
        known.clear()
