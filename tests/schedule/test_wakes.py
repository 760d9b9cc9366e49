"""A model runs before its tick when a table that it reads has a new version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.answers import manifest
from tests.schedule.test_watcher import World

from tapestry.cli.watch import read_by_kept
from tapestry.schedule.ticks import Ticks, Timing
from tapestry.schedule.wakes import Wakes
from tapestry.schedule.watcher import Pace, Watcher
from tapestry.schedule.worker import DUE, READ, Event


def _commit(table: Path, version: int) -> None:
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    (table / f"_delta_log/{version:020d}.json").touch()


def test_a_new_version_of_what_was_read_wakes(tmp_path: Path) -> None:
    wakes = Wakes({"revenue": {"db.orders", "db.far"}})
    place = (tmp_path / "a table").as_uri()
    versions = {"db.orders": (place, 3), "db.far": ("s3://b/far", 0), "db.other": ("/none", 0)}
    wakes.note("revenue", versions, now=10)
    assert wakes.seen["revenue"].keys() == {"db.orders", "db.far"}
    _commit(tmp_path / "a table", 3)
    assert not wakes.moved("revenue", 12, seconds=0.5)
    _commit(tmp_path / "a table", 4)
    assert wakes.moved("revenue", 12, seconds=0.5)
    assert not wakes.moved("revenue", 10.5, seconds=0.1), "at once after a run"
    assert not wakes.moved("revenue", 14, seconds=5), "a run that took longer has that much rest"


def test_a_wake_moves_no_tick() -> None:
    ticks = Ticks([Timing("a", 30)], now=0)
    ticks.take(0, 1, 1)
    ticks.ended("a", 2, 2, failed=False)
    ticks.wake("a", 11)
    assert ticks.take(11, 1, 1) == ("a",)
    ticks.wake("a", 12)
    ticks.ended("a", 13, 2, failed=False)
    turn = ticks.turns["a"]
    assert (turn.due, turn.tick, turn.skipped, turn.runs) == (30, 1, 0, 2)


class _Reading(World):
    """Each run of a model reads the newest version; a commit lands at an instant."""

    def __init__(self, table: Path, commits: list[float]) -> None:
        super().__init__({"kept": 1.0, "other": 1.0})
        self.table, self.commits, self.version = table, commits, 0

    def wait(self, timeout: float, *others: Any) -> list[Event]:
        under_way = [name for _, names in self.under_way for name in names]
        events = super().wait(timeout, *others)
        while self.commits and self.commits[0] <= self.now:
            self.commits.pop(0)
            self.version += 1
            _commit(self.table, self.version)
        ended = {event.model for event in events if event.ran is not None}
        versions = {"db.orders": (str(self.table), self.version)}
        return events + [Event(READ, n, versions=versions) for n in under_way if n in ended]


@pytest.mark.parametrize("broken", [False, True])
def test_the_watch_runs_what_has_moved_at_once(tmp_path: Path, broken: bool) -> None:
    world = _Reading(tmp_path, [100.0, 160.0])
    world.broken = {"kept"} if broken else set()
    ticks = Ticks([Timing("kept", 1000), Timing("other", 1000)], 0)
    watcher = Watcher(ticks, world, world, world, Pace(clock=world.clock, ends_at=400))
    watcher.wakes = Wakes({"kept": {"db.orders"}})
    watcher.run()
    at = [round(when) for when, name in world.started if name == "kept"]
    assert at == ([0] if broken else [0, 100, 160])
    assert sum(name == "other" for _, name in world.started) == 1


class _Firing(World):
    """A rule fires at some of its runs; its action has something to do ``after`` that.

    The queue is asked when an invocation ends, as a worker does.
    """

    def __init__(self, commits: list[float], after: float) -> None:
        super().__init__({"rule": 1.0, "act": 1.0, "other": 1.0})
        self.commits, self.after = commits, after
        self.pending: list[float] = []
        self.done: list[tuple[float, float]] = []

    def give(self, names: Any) -> None:
        super().give(names)
        if "act" in names and "act" not in self.broken:
            due = [at for at in self.pending if at + self.after <= self.now]
            self.done += [(at, self.now) for at in due]
            self.pending = [at for at in self.pending if at not in due]
        if "rule" in names:
            self.pending += [at for at in self.commits if at <= self.now]
            self.commits = [at for at in self.commits if at > self.now]

    def wait(self, timeout: float, *others: Any) -> list[Event]:
        events = super().wait(timeout, *others)
        if any(event.ran is not None and event.model in ("rule", "act") for event in events):
            release = min(self.pending, default=None)
            within = None if release is None else release + self.after - self.now
            events.append(Event(DUE, "act", within=within))
            events.append(Event(DUE, "of another watch", within=0))
        return events


def _fired(world: _Firing, act: float = 1000, until: float = 400) -> list[float]:
    """When the action has run; the rule runs every 10 s."""
    ticks = Ticks([Timing("rule", 10), Timing("act", act), Timing("other", 1000)], 0)
    watcher = Watcher(ticks, world, world, world, Pace(clock=world.clock, ends_at=until))
    watcher.run()
    assert sum(name == "other" for _, name in world.started) == 1
    return [when for when, name in world.started if name == "act"]


@pytest.mark.parametrize("after", [0.0, 3.0, 45.0])
def test_an_action_runs_when_its_first_batch_is_released(after: float) -> None:
    """Latency = every + after + run, here at most 10 s, `after` and a second of each run."""
    world = _Firing([12.0, 13.0, 101.0, 222.5], after)
    ran = _fired(world)
    assert [at for at, _ in world.done] == [12.0, 13.0, 101.0, 222.5]
    for at, when in world.done:
        assert at + after <= when <= at + max(after, 10 + 1) + 1.2
    assert 4 <= len(ran) <= 5, "at its first tick, and for what is released"
    assert sum(name == "rule" for _, name in world.started) == 40, "its ticks stay"


def test_an_action_without_anything_to_do_runs_at_its_ticks() -> None:
    """Others may have run the rule."""
    ran = _fired(_Firing([], 3.0), act=100)
    assert [int(when) // 100 for when in ran] == [0, 1, 2, 3]


def test_an_action_that_fails_is_not_run_over_and_over() -> None:
    """What has become due since it failed wakes it; what was due then waits for the next try."""
    world = _Firing([12.0], 3.0)
    world.broken = {"act"}
    ran = _fired(world, act=30)
    assert ran[1] == 21, "released at 15, told at 21"
    assert len(ran) < 8
    assert ran[2] - ran[1] > 30


def test_what_maintained_models_read_is_told_through_views() -> None:
    graph = manifest(None).graph
    nodes = graph["nodes"]
    nodes["model.p.first"]["config"]["materialized"] = "table"
    nodes["model.p.second"]["config"]["materialized"] = "maintained"
    found: Any = manifest(None)
    found.graph["nodes"].update(nodes)
    assert read_by_kept(found, {"first", "view", "second"}) == {"second": {"db.first"}}
    assert read_by_kept(found, {"first"}) == {}
