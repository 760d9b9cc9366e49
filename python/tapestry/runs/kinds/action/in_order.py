"""Executes the batches of a round in their order: one by one, or in waves.

    one        alone, under a transaction of its own
    wave       batches in one statement, where that is equal to executing them one by one

Batches of one key go strictly in the order of opening. Those behind a failed one wait as they are
cut, and so do all that are not begun in time: no attempt is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from tapestry.instants import now_utc
from tapestry.runs.tables.action_batch import DONE, WAITS, ActionBatch

Alone = Callable[[ActionBatch], ActionBatch]
InOneWave = Callable[[Sequence[ActionBatch], bool], list[ActionBatch] | None]


@dataclass
class BatchesInOrder:
    """The ways of executing a round's batches.

    alone
        Executes a batch.
    wave
        Executes a wave, or, where that is no longer allowed, says what has become of it; None: its
        batches are to be executed one by one.
    until
        When nothing is begun any more, by the monotonic clock.
    """

    alone: Alone
    wave: InOneWave
    until: float
    failed: set[str] = field(default_factory=set, init=False)
    ended: list[ActionBatch] = field(default_factory=list, init=False)

    def execute(
        self, batches: Sequence[ActionBatch], opened: Iterable[ActionBatch]
    ) -> list[ActionBatch]:
        """Execute the batches; ``opened`` are all that are not over, including them."""
        sizes = Counter((one.m, one.wave) for one in opened)
        left = list(batches)
        while left:
            one = left[0]
            late = bool(self.ended) and monotonic() > self.until
            if late or one.key in self.failed:
                self.note([one.became(WAITS, now_utc(), 0)])
                left = left[1:]
            elif not one.wave:
                self.note([self.alone(one)])
                left = left[1:]
            else:
                left = self.next_wave(left, sizes[one.m, one.wave])
        return self.ended

    def next_wave(self, left: list[ActionBatch], size: int) -> list[ActionBatch]:
        """Execute the wave of the first batch; return the batches that are left then."""
        name = (left[0].m, left[0].wave)
        members = [one for one in left if (one.m, one.wave) == name]
        whole = len(members) == size and self.free(members, left)
        found = self.wave(members, whole)
        if found is None:
            return [replace(one, wave=0) if (one.m, one.wave) == name else one for one in left]
        self.note(found)
        return [one for one in left if (one.m, one.wave) != name]

    def free(self, members: Sequence[ActionBatch], left: Sequence[ActionBatch]) -> bool:
        """Return whether no batch has to wait for one of its key that is not over."""
        first: dict[str | None, ActionBatch] = {}
        for one in left:
            first.setdefault(one.key, one)
        return all(
            one.key is None or (first[one.key] is one and one.key not in self.failed)
            for one in members
        )

    def note(self, ended: Iterable[ActionBatch]) -> None:
        """Remember the outcomes of batches."""
        for one in ended:
            self.ended.append(one)
            if one.event.what != DONE and one.key is not None:
                self.failed.add(one.key)
