"""The loop with a clock and workers of the test's own: what runs when, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tapestry.schedule.pool import LOST
from tapestry.schedule.ticks import Ticks, Timing
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Ran
from tapestry.schedule.watcher import BACKING_OFF, WAITING, Line, Pace, Watcher
from tapestry.schedule.worker import FREE, RAN, STARTED, WARNED, Event


class World:
    """Clock, workers, stop and view in one; a model takes ``seconds`` and fails while broken."""

    def __init__(self, seconds: dict[str, float], size: int = 2) -> None:
        self.now, self.size, self.seconds = 0.0, size, seconds
        self.broken: set[str] = set()
        self.under_way: list[tuple[float, list[str]]] = []
        self.started: list[tuple[float, str]] = []
        self.runs: list[tuple[float, str, str]] = []
        self.notes: list[str] = []
        self.asked = False
        self.stop_at = float("inf")
        self.extra: list[Event] = []
        self.every_time: list[Event] = []

    def clock(self) -> float:
        return self.now

    @property
    def idle(self) -> int:
        return self.size - len(self.under_way)

    @property
    def working(self) -> bool:
        return bool(self.under_way)

    def give(self, names: Sequence[str]) -> None:
        assert self.idle
        end = self.now + sum(self.seconds[name] for name in names)
        self.under_way.append((end, list(names)))
        self.started += [(self.now, name) for name in names]

    def wait(self, timeout: float, *others: Any) -> list[Event]:
        ends = [end for end, _ in self.under_way]
        stop_at = [self.stop_at] if others and not self.asked else []
        self.now = min([self.now + max(timeout, 0.001), *ends, *stop_at])
        self.asked = self.asked or self.now >= self.stop_at
        events, self.extra = [*self.extra, *self.every_time], []
        for end, names in list(self.under_way):
            if end <= self.now:
                self.under_way.remove((end, names))
                for name in names:
                    status = FAILED if name in self.broken else OK
                    ran = Ran(name, status, 1, self.seconds[name], "it broke")
                    events += [Event(STARTED, name), Event(RAN, name, ran)]
                events.append(Event(FREE))
        return events

    def ran(self, ran: Ran, line: Line) -> None:
        self.runs.append((self.now, ran.model, ran.status))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def refresh(self) -> None:
        pass

    def watch(self, *timings: Timing, until: float | None = None) -> Watcher:
        ticks = Ticks(timings, self.now)
        watcher = Watcher(ticks, self, self, self, Pace(clock=self.clock, ends_at=until))
        watcher.run()
        return watcher


def test_each_model_runs_as_often_as_it_says() -> None:
    world = World({"a": 0.2, "b": 0.2})
    watcher = world.watch(Timing("a", 10), Timing("b", 30), until=91)
    runs = [name for _, name in world.started]
    assert (runs.count("a"), runs.count("b")) == (10, 4)
    assert watcher.lines["a"].total == 10
    assert watcher.failing == []


def test_no_drift_over_a_thousand_cycles() -> None:
    world = World({"a": 0.3})
    world.watch(Timing("a", 1), until=1000.5)
    late = [start - k for k, (start, _) in enumerate(world.started)]
    assert len(late) == 1001
    assert max(late) < 0.01


def test_a_slow_model_does_not_hold_up_the_others() -> None:
    world = World({"slow": 100, "a": 0.5, "b": 0.5})
    world.watch(Timing("slow", 30, priority=9), Timing("a", 30), Timing("b", 30), until=1000)
    for name in "ab":
        starts = [start for start, started in world.started if started == name][1:]
        assert max(start % 30 for start in starts) < 2
        assert len(starts) >= 32


def test_a_failing_model_backs_off_and_the_others_go_on() -> None:
    world = World({"a": 0.2, "b": 0.2})
    world.broken = {"b"}
    watcher = world.watch(Timing("a", 10), Timing("b", 10), until=101)
    tried = [start for start, name in world.started if name == "b"]
    assert [round(start) for start in tried] == [0, 10, 30, 70]
    assert sum(name == "a" for _, name in world.started) == 11
    assert watcher.failing == ["b"]
    assert (watcher.lines["b"].status, watcher.lines["b"].message) == (BACKING_OFF, "it broke")
    assert watcher.lines["a"].status == WAITING


def test_asked_to_stop_it_finishes_what_is_under_way_and_begins_nothing() -> None:
    world = World({"a": 7, "b": 0.1})
    world.stop_at = 23
    world.watch(Timing("a", 20), Timing("b", 2))
    assert not world.under_way
    assert max(start for start, _ in world.started) <= 23
    assert world.runs[-1] == (pytest.approx(27, abs=0.2), "a", OK)
    assert world.now < 28
    assert world.notes == ["ending; under way: a"]


def test_a_skipped_model_is_no_failure_and_a_lost_worker_is_told() -> None:
    world = World({"a": 1})
    world.extra = [Event(LOST, message="killed")]
    pace = Pace(clock=world.clock, ends_at=5)
    watcher = Watcher(Ticks([Timing("a", 10)], 0), world, world, world, pace)
    watcher.run()
    assert world.notes == ["a worker was lost: killed"]
    watcher._ran(Ran("a", SKIPPED, message="a model that it reads failed"))
    assert watcher.failing == []
    assert watcher.ticks.turns["a"].seconds == 1, "a skipped run says nothing of how long it takes"


def test_a_warning_that_keeps_coming_is_shown_now_and_then() -> None:
    world = World({"a": 1})
    world.every_time = [Event(WARNED, message="a to ops: not delivered yet")]
    world.watch(Timing("a", 30), until=1500)
    assert world.notes == ["warning: a to ops: not delivered yet"] * 3


def test_what_is_not_healthy_ends_it() -> None:
    world = World({"a": 1})
    watcher = Watcher(Ticks([Timing("a", 10)], 0), world, world, world, Pace(clock=world.clock))

    def sick() -> None:
        raise RuntimeError("no more")

    watcher.healthy = sick
    with pytest.raises(RuntimeError, match="no more"):
        watcher.run()
