"""A pool of worker processes: idle ones, their events, and replacements for lost ones."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from tapestry.children import OF_A_PROJECT, Popen, TimeoutExpired, start_python
from tapestry.schedule.warm import FAILED, Ran
from tapestry.schedule.worker import BROKEN, FREE, RAN, READY, Event, Task

LOST = "lost"
"""An `Event` of the pool's own: a worker process is gone."""
AGAIN = 5.0
"""Seconds until a worker that is gone is replaced; twice as many each time it never got ready."""
LONGEST = 300.0


@dataclass
class _Seat:
    """A slot for a worker process."""

    number: int
    process: Popen[bytes] | None = None
    pipe: Connection | None = None
    ready: bool = False
    models: set[str] = field(default_factory=set)
    busy: bool = False
    again_at: float = 0.0
    failures: int = 0


class Pool:
    """A number of worker processes; ``task`` makes the task of each.

    ``clock`` gives seconds and never goes back.
    """

    def __init__(
        self, size: int, task: Callable[[int], Task], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.size, self._task, self._clock = size, task, clock
        self._seats = [_Seat(number) for number in range(1, size + 1)]

    def start(self) -> None:
        """Start the processes, which send an event when they are ready."""
        for seat in self._seats:
            self._spawn(seat)

    @property
    def idle(self) -> int:
        """Workers that could begin at once."""
        return sum(seat.ready and not seat.busy for seat in self._seats)

    @property
    def busy(self) -> list[str]:
        """Models that are under way."""
        return sorted(name for seat in self._seats for name in seat.models)

    @property
    def working(self) -> bool:
        """Whether an invocation is under way."""
        return any(seat.busy for seat in self._seats)

    def give(self, names: Sequence[str]) -> None:
        """Make an idle worker run some models."""
        seat = next(seat for seat in self._seats if seat.ready and not seat.busy)
        assert seat.pipe is not None
        seat.busy, seat.models = True, set(names)
        try:
            seat.pipe.send(list(names))
        except OSError:
            return  # it is gone: `wait` finds that out, and tells of its models

    def wait(self, timeout: float, *others: Any) -> list[Event]:
        """Return the workers' events; wait for one, or for one of ``others`` to be readable."""
        now = self._clock()
        for seat in self._seats:
            if seat.pipe is None:
                if now >= seat.again_at:
                    self._spawn(seat)
                else:
                    timeout = min(timeout, seat.again_at - now)
        there = {seat.pipe: seat for seat in self._seats if seat.pipe is not None}
        readable = set(wait([*there, *others], max(0.0, timeout)))
        heard = [self._hear(seat) for pipe, seat in there.items() if pipe in readable]
        return [event for events in heard for event in events]

    def close(self, patience: float = 30.0) -> None:
        """End the processes: each after what it is doing, and by force after ``patience`` seconds.

        A run that is ended by force has committed or has not: the next one goes on from there.
        """
        for seat in self._seats:
            if seat.pipe is not None:
                seat.pipe.close()
        until = self._clock() + patience
        for seat in self._seats:
            if seat.process is None:
                continue
            _end(seat.process, max(0.0, until - self._clock()))
            seat.process, seat.pipe = None, None

    def replace(self) -> None:
        """Kill the processes; others take their slots, with tasks as they are then."""
        for seat in self._seats:
            if seat.process is not None and seat.pipe is not None:
                seat.process.kill()

    def _spawn(self, seat: _Seat) -> None:
        seat.pipe, theirs = Pipe()
        with theirs:
            seat.process = start_python(
                "tapestry.schedule.worker",
                [str(theirs.fileno())],
                environment=OF_A_PROJECT,
                folder=os.getcwd(),  # to which a relative path in an author's SQL refers
                pass_fds=[theirs.fileno()],
            )
        with contextlib.suppress(OSError):  # it is gone: `wait` finds that out
            seat.pipe.send(self._task(seat.number))
        seat.ready = seat.busy = False
        seat.models = set()

    def _hear(self, seat: _Seat) -> list[Event]:
        assert seat.pipe is not None
        try:
            event = seat.pipe.recv()
        except (EOFError, OSError):
            return self._lost(seat, "")
        if event.kind == BROKEN:
            return self._lost(seat, event.message)
        if event.kind == READY:
            seat.ready, seat.failures = True, 0
        elif event.kind == RAN:
            seat.models.discard(event.model)
        elif event.kind == FREE:
            seat.busy = False
        return [event]

    def _lost(self, seat: _Seat, message: str) -> list[Event]:
        """Return failures of its models, as the outcome is unknown; a new process is started."""
        assert seat.pipe is not None
        assert seat.process is not None
        seat.pipe.close()
        code = _end(seat.process, 5)
        message = message or f"its process ended (exit code {code})"
        failed = [Ran(name, FAILED, message=message) for name in sorted(seat.models)]
        delay = min(LONGEST, AGAIN * 2**seat.failures)
        seat.failures += 1
        seat.pipe, seat.ready, seat.busy = None, False, False
        seat.models, seat.again_at = set(), self._clock() + delay
        return [*(Event(RAN, one.model, one) for one in failed), Event(LOST, message=message)]


def _end(process: Popen[bytes], patience: float) -> int:
    """Wait up to ``patience`` seconds for a process to end, then kill it; return the exit code."""
    try:
        return process.wait(patience)
    except TimeoutExpired:
        process.kill()
        return process.wait()
