"""The order in which the batches of a round are executed, alone or in waves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from time import monotonic

import pytest
from tests.seeds import seeds

from tapestry.runs.kinds.action.in_order import BatchesInOrder
from tapestry.runs.kinds.action.waves import in_waves
from tapestry.runs.tables.action_batch import DONE, FAILED, WAITS, ActionBatch, BatchEvent

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def batch(i: int, key: str | None, m: int = 1, depth: int = 0) -> ActionBatch:
    event = BatchEvent(at=NOW)
    release = NOW + timedelta(seconds=i)
    return ActionBatch(m, i, key, {}, 1, 1, release, release, depth, 0, event)


def ended(one: ActionBatch, failing: set[str]) -> ActionBatch:
    return one.became(FAILED if one.key in failing else DONE, NOW, 0)


class Executed:
    """Remembers what is executed, and how; ``closed`` are waves that must not be any more."""

    def __init__(self, failing: set[str], closed: set[int]) -> None:
        self.failing, self.closed = failing, closed
        self.steps: list[list[ActionBatch]] = []

    def alone(self, one: ActionBatch) -> ActionBatch:
        self.steps.append([one])
        return ended(one, self.failing)

    def wave(self, batches: Sequence[ActionBatch], whole: bool) -> list[ActionBatch] | None:
        bad = any(one.key in self.failing for one in batches)
        if not whole or bad or batches[0].wave in self.closed:
            self.closed.add(batches[0].wave)
            return None
        self.steps.append(list(batches))
        return [ended(one, set()) for one in batches]


def test_waves_are_the_first_ones_of_all_keys() -> None:
    listed = [batch(1, "a"), batch(2, "b"), batch(3, "a"), batch(4, "a"), batch(5, "b")]
    assert [one.wave for one in in_waves(listed, 16)] == [1, 1, 2, 0, 2]
    assert [one.wave for one in in_waves([batch(1, None), batch(2, None)], 16)] == [1, 1]
    assert [one.wave for one in in_waves([batch(1, "a", depth=3), batch(2, "b")], 2)] == [0, 0]


def test_what_is_not_begun_in_time_waits() -> None:
    done = Executed(set(), set())
    order = BatchesInOrder(done.alone, done.wave, monotonic() - 1)
    found = order.execute([batch(1, "a"), batch(2, "b")], [])
    assert [one.event.what for one in found] == [DONE, WAITS]


@pytest.mark.parametrize("number", seeds(200))
def test_keys_keep_their_order(number: int) -> None:
    """Whatever is closed, fails, or was replayed: each batch ends once, and none before an earlier
    one of its key that has not been executed with success."""
    rng = random.Random(number)
    keys = ("a", "b", "c", None)
    listed = in_waves([batch(i, rng.choice(keys)) for i in range(1, rng.randint(2, 12))], 16)
    left = [one for one in listed if rng.random() < 0.9]  # the others are not over
    if rng.random() < 0.5:
        replayed = replace(batch(0, rng.choice(keys[:3]), m=2), wave=0)
        left = sorted([*left, replayed], key=lambda one: one.release)
    failing = {key for key in keys if key is not None and rng.random() < 0.2}
    done = Executed(failing, {wave for wave in (1, 2, 3) if rng.random() < 0.2})
    order = BatchesInOrder(done.alone, done.wave, monotonic() + 60)
    found = order.execute(left, [*listed, *left])
    assert sorted((one.m, one.i) for one in found) == sorted((one.m, one.i) for one in left)
    executed: dict[str | None, list[int]] = {}
    for step in done.steps:
        assert len({one.key for one in step if one.key is not None}) == sum(
            one.key is not None for one in step
        )
        for one in step:
            executed.setdefault(one.key, []).append(one.i)
    for key in keys[:3]:
        wanted = [one.i for one in left if one.key == key]
        ran = executed.get(key, [])
        assert ran == (wanted[:1] if key in failing else wanted)
        waits = [one.i for one in found if one.key == key and one.event.what == WAITS]
        assert waits == (wanted[1:] if key in failing else [])
