"""Decides which models run next, as pure functions of given instants, testable without waiting.

The ticks of a model are ``start + k * every``: a run that takes long, or comes late, moves none of
them. Ticks that pass while a model runs or waits are counted and not made up for: one run covers
their windows.

A model is *slow* when its last run took longer than half of the shortest ``every``. Its first run
says nothing of that, for it may have waited for a cold engine to load and to compile: until it has
run twice, a model is slow when it runs more than twice as seldom as the shortest. Slow models run
alone and leave the last idle worker to the others; the others share an invocation, as many as take
half of the shortest ``every`` together. So a model that is due waits at most for such invocations,
and never for one that is known to be slow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

CAP = 600.0
"""Seconds: a model that fails is tried again at least so often (or as often as it runs anyway)."""


@dataclass(frozen=True)
class Timing:
    """The author's timing of a model; ``every`` in seconds; greater priorities go first.

    deadline
        Within so many seconds what is due of an action is to be executed.
    """

    name: str
    every: float
    priority: int = 0
    deadline: float = math.inf


@dataclass
class Turn:
    """The schedule of one model.

    tick, due
        The number and the instant of its next tick.
    skipped
        Ticks that passed while it ran or waited.
    failures
        Runs that failed since it last succeeded.
    good
        Runs that did not fail and whose length is known.
    seconds
        How long the last of them took; None: there was none yet.
    until
        When what is due is to be executed, of an action with a deadline.
    """

    timing: Timing
    tick: int
    due: float
    running: bool = False
    skipped: int = 0
    failures: int = 0
    runs: int = 0
    good: int = 0
    seconds: float | None = None
    until: float = math.inf

    @property
    def expected(self) -> float | None:
        """The seconds that its next run will probably take; unknown after one run, a cold one."""
        return self.seconds if self.good > 1 else None


class Ticks:
    """The turns of some models; instants are seconds of one clock that never goes back.

    >>> ticks = Ticks([Timing("a", 30)], now=100)
    >>> ticks.take(100, idle=1, workers=1)
    ('a',)
    >>> ticks.ended("a", 171, seconds=71, failed=False)
    >>> ticks.turns["a"].due, ticks.turns["a"].skipped
    (190, 2)
    """

    def __init__(self, timings: Iterable[Timing], now: float) -> None:
        self.start = now
        self.turns = {timing.name: Turn(timing, 0, now) for timing in timings}
        self.limit = min((turn.timing.every for turn in self.turns.values()), default=0.0) / 2

    def next_due(self) -> float | None:
        """Return the next tick of a model that is not running; None if all are running."""
        return min((turn.due for turn in self.turns.values() if not turn.running), default=None)

    def due(self, now: float) -> list[Turn]:
        """Return the models whose tick has come, in the order in which they run."""
        waiting = [t for t in self.turns.values() if not t.running and t.due <= now]
        return sorted(waiting, key=lambda t: (-t.timing.priority, t.until, t.due, t.timing.every))

    def take(self, now: float, idle: int, workers: int, together: int = 1) -> tuple[str, ...]:
        """The models of the next invocation, which count as running from now on; may be none.

        ``idle`` of ``workers`` have nothing to do. Models of which one does not know how long they
        take go ``together`` at most: as many as dbt has threads, so that none waits behind another.
        """
        for first in self.due(now):
            if self.slow(first) and idle == 1 and self._kept_free(workers):
                continue
            batch = self._with(first, now, together)
            for turn in batch:
                turn.running = True
            return tuple(turn.timing.name for turn in batch)
        return ()

    def wake(self, name: str, now: float, since: float | None = None) -> None:
        """Let a model that waits for its tick run now; the tick stays.

        ``since``: its deadline counts from then.
        """
        turn = self.turns[name]
        if since is not None and not turn.running:
            turn.until = since + turn.timing.deadline
        if not turn.running and turn.due > now:
            turn.tick, turn.due = turn.tick - 1, now

    def ended(self, name: str, now: float, seconds: float | None, failed: bool) -> None:
        """Note the end of a model's run: set its next tick, a later one after failures.

        ``seconds`` is how long a good run took; None where that cannot be said.
        """
        turn = self.turns[name]
        turn.running, turn.runs, turn.until = False, turn.runs + 1, math.inf
        if seconds is not None:
            turn.seconds, turn.good = seconds, turn.good + 1
        turn.failures = turn.failures + 1 if failed else 0
        every = turn.timing.every
        following = max(turn.tick, math.floor((now - self.start) / every)) + 1
        turn.skipped += following - turn.tick - 1
        left_alone = math.ceil(backoff(turn) / every) if failed else 1
        turn.tick = max(following, turn.tick + left_alone)
        turn.due = self.start + turn.tick * every

    def slow(self, turn: Turn) -> bool:
        """Return whether a model may delay the others."""
        if turn.expected is None:
            return turn.timing.every > 4 * self.limit
        return turn.expected > self.limit

    def _kept_free(self, workers: int) -> bool:
        """Return whether the last idle worker is kept for models that are not slow."""
        return workers > 1 and not all(self.slow(turn) for turn in self.turns.values())

    def _with(self, first: Turn, now: float, together: int) -> list[Turn]:
        """Return the models that share an invocation with the first: same kind and priority."""
        alike = [t for t in self.due(now) if t.timing.priority == first.timing.priority]
        if first.expected is None:
            new = [t for t in alike if t.expected is None and self.slow(t) == self.slow(first)]
            return new[:together]
        if self.slow(first):
            return [first]
        batch, total = [], 0.0
        for turn in alike:
            if turn.expected is not None and total + turn.expected <= self.limit:
                batch.append(turn)
                total += turn.expected
        return batch


def backoff(turn: Turn) -> float:
    """Return the seconds from a failed run to the next: doubled by each failure, up to a cap.

    >>> [backoff(Turn(Timing("a", 30), 1, 0, failures=n)) for n in (1, 2, 3, 9)]
    [30.0, 60.0, 120.0, 600.0]
    """
    doubled = turn.timing.every * 2.0 ** min(turn.failures - 1, 60)
    return min(max(CAP, turn.timing.every), doubled)
