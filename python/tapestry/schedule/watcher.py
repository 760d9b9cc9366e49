"""The loop of `tapestry watch`, which connects the ticks, the workers and the view.

It holds no state but for the ticks: what was delivered stands in the tables, and a watch that is
started again goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Protocol

from tapestry.schedule.pool import LOST
from tapestry.schedule.ticks import Ticks
from tapestry.schedule.wakes import Wakes
from tapestry.schedule.warm import FAILED, OK, Ran
from tapestry.schedule.worker import DUE, RAN, READ, STARTED, WARNED, Event

WAITING, RUNNING, BACKING_OFF = "waiting", "running", "backing off"
REFRESH = 0.5
"""Seconds between two looks at the clock while nothing happens, where somebody looks on."""
REMIND = 600.0
"""Seconds until a warning that keeps coming is shown again."""


@dataclass
class Line:
    """The state of a model for the view: its last run, and totals."""

    status: str = WAITING
    rows: int = 0
    total: int = 0
    ended_at: datetime | None = None
    message: str = ""


class Workers(Protocol):
    """The interface of what runs the models: `pool.Pool`."""

    size: int

    @property
    def idle(self) -> int:
        """Workers that could begin at once."""
        ...

    @property
    def working(self) -> bool:
        """Whether an invocation is under way."""
        ...

    def give(self, names: Sequence[str]) -> None:
        """Make an idle worker run some models."""
        ...

    def wait(self, timeout: float, *others: Any) -> list[Event]:
        """Return the workers' events."""
        ...


class WatchView(Protocol):
    """The interface of a view of the watch."""

    def ran(self, ran: Ran, line: Line) -> None:
        """Show the end of a model's run."""
        ...

    def note(self, text: str) -> None:
        """Show another message."""
        ...

    def refresh(self) -> None:
        """Update the view, once in each round of the loop."""
        ...


@dataclass(frozen=True)
class Pace:
    """The limits of a watch.

    together
        How many models that have not run yet share an invocation: dbt's threads.
    ends_at
        An instant of ``clock``; None: for ever.
    """

    together: int = 1
    clock: Callable[[], float] = time.monotonic
    ends_at: float | None = None


class Watcher:
    """Run models at their ticks until it is asked to stop, or until the end of its ``pace``.

    stop
        ``asked`` says whether; ``fileno()`` is readable then.
    """

    def __init__(
        self,
        ticks: Ticks,
        pool: Workers,
        view: WatchView,
        stop: Any,
        pace: Pace | None = None,
    ) -> None:
        self.ticks, self._pool, self._view, self._stop = ticks, pool, view, stop
        pace = pace or Pace()
        self._together, self._clock, self._ends_at = pace.together, pace.clock, pace.ends_at
        self.lines = {name: Line() for name in ticks.turns}
        self._warned: dict[str, float] = {}
        self.wakes = Wakes()
        """They wake a model before its tick, once somebody says what it reads."""
        self.healthy: Callable[[], None] = lambda: None
        """Called each time round; may raise to end the watch."""

    def run(self) -> None:
        """Run until the end; runs under way then are finished first."""
        ending = False
        while True:
            now = self._clock()
            if not ending and (self._stop.asked or (self._ends_at and now >= self._ends_at)):
                ending = True
                if self._pool.working:
                    busy = [name for name, turn in self.ticks.turns.items() if turn.running]
                    self._view.note(f"ending; under way: {', '.join(busy) or 'the log'}")
            if ending and not self._pool.working:
                return
            if not ending:
                self._give(now)
            others = [] if ending else [self._stop]
            for event in self._pool.wait(self._patience(now), *others):
                self._hear(event)
            self.healthy()
            self._view.refresh()

    @property
    def failing(self) -> list[str]:
        """Models whose last run failed."""
        return [name for name, turn in self.ticks.turns.items() if turn.failures]

    def _give(self, now: float) -> None:
        for name in list(self.wakes.seen):
            turn = self.ticks.turns[name]
            idle = not turn.running and not turn.failures and turn.due > now
            if idle and self.wakes.moved(name, now, turn.expected):
                self.ticks.wake(name, now)
        for name, at in self._due_actions().items():
            if at <= now:
                self.ticks.wake(name, now, self.wakes.due.pop(name))
        while self._pool.idle:
            names = self.ticks.take(now, self._pool.idle, self._pool.size, self._together)
            if not names:
                return
            self._pool.give(names)

    def _due_actions(self) -> dict[str, float]:
        """Return when actions that are not running run before their ticks."""
        found = {}
        for name in self.wakes.due:
            turn = self.ticks.turns[name]
            at = None if turn.running else self.wakes.wakes_at(name, bool(turn.failures))
            if at is not None:
                found[name] = at
        return found

    def _patience(self, now: float) -> float:
        """Seconds to the next tick, at most until somebody wants to see the clock move."""
        due = min([*self._due_actions().values()], default=None)
        tick = self.ticks.next_due()
        due = tick if due is None or tick is None else min(due, tick)
        wait = REFRESH if due is None or due <= now else min(REFRESH, due - now)
        return wait if self._ends_at is None else min(wait, max(0.0, self._ends_at - now))

    def _hear(self, event: Event) -> None:
        if event.kind == STARTED:
            self.lines[event.model].status = RUNNING
        elif event.kind == LOST:
            self._view.note(f"a worker was lost: {event.message}")
        elif event.kind == READ and event.model in self.wakes.reads:
            self.wakes.note(event.model, event.versions, self._clock())
        elif event.kind == DUE and event.model in self.ticks.turns:
            self.wakes.note_due(event.model, event.within, self._clock())
        elif event.kind == WARNED:
            self._warn(event.message)
        elif event.kind == RAN and event.ran is not None:
            self._ran(event.ran)

    def _warn(self, message: str) -> None:
        """Show a warning; a repeated one, as of a sink that is down, only now and then."""
        now = self._clock()
        self._warned = {text: at for text, at in self._warned.items() if now - at < REMIND}
        if message not in self._warned:
            self._warned[message] = now
            self._view.note(f"warning: {message}")

    def _ran(self, ran: Ran) -> None:
        """Note the end of a run; a model that dbt skipped waits for its tick as after a good
        run.
        """
        line = self.lines[ran.model]
        failed = ran.status == FAILED
        seconds = ran.seconds if ran.status == OK else None
        now = self._clock()
        self.ticks.ended(ran.model, now, seconds, failed)
        self.wakes.ended[ran.model] = now
        line.status = BACKING_OFF if failed else WAITING
        line.rows = ran.rows
        line.total += ran.rows
        line.message = "" if ran.status == OK else ran.message
        line.ended_at = datetime.now(timezone.utc)
        self._view.ran(ran, line)
