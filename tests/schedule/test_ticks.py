"""Whose turn it is, with a clock of the test's own."""

from __future__ import annotations

import math
import random
from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.seeds import seeds

from tapestry.schedule.ticks import CAP, Ticks, Timing
from tapestry.schedule.timings import timings


def run(ticks: Ticks, seconds: dict[str, float], until: float, workers: int = 2) -> list[tuple]:
    """Simulate: (start, end, models) of every invocation; its models run one after the other."""
    now = ticks.start
    busy: list[tuple[float, tuple[str, ...]]] = []
    done = []
    while now < until:
        while len(busy) < workers and (names := ticks.take(now, workers - len(busy), workers)):
            end = now + sum(seconds[name] for name in names)
            busy.append((end, names))
            done.append((now, end, names))
        nexts = [end for end, _ in busy]
        nexts += [turn.due for turn in ticks.turns.values() if not turn.running and turn.due > now]
        now = min(nexts)
        for end, names in [one for one in busy if one[0] <= now]:
            busy.remove((end, names))
            for name in names:
                ticks.ended(name, end, seconds[name], failed=False)
    return done


def test_no_drift() -> None:
    """Runs of 0.7 s every 10 s begin at 0, 10, 20 …, not at 0, 10.7, 21.4 …"""
    ticks = Ticks([Timing("a", 10)], now=5.0)
    for k in range(1000):
        assert ticks.next_due() == 5.0 + 10 * k
        assert ticks.take(5.0 + 10 * k + 0.2, 1, 1) == ("a",)
        ticks.ended("a", 5.0 + 10 * k + 0.9, 0.7, failed=False)
    assert ticks.turns["a"].skipped == 0


def test_ticks_that_pass_are_counted_and_not_made_up_for() -> None:
    ticks = Ticks([Timing("a", 10)], now=0)
    ticks.take(0, 1, 1)
    ticks.ended("a", 35, 35, failed=False)
    assert (ticks.turns["a"].due, ticks.turns["a"].skipped) == (40, 3)
    # it waits from 40 to 71 for a worker: two more pass, the run at 71 is that of 40
    ticks.take(71, 1, 1)
    ticks.ended("a", 72, 1, failed=False)
    assert (ticks.turns["a"].due, ticks.turns["a"].skipped) == (80, 6)


def test_a_run_that_ends_at_a_tick_has_used_it_up() -> None:
    ticks = Ticks([Timing("a", 10)], now=0)
    ticks.take(0, 1, 1)
    ticks.ended("a", 10, 10, failed=False)
    assert (ticks.turns["a"].due, ticks.turns["a"].skipped) == (20, 1)


def known(ticks: Ticks, seconds: dict[str, float], now: float = 0) -> None:
    """Let every model have run at its first tick, not for the first time."""
    for name, lasted in seconds.items():
        ticks.turns[name].good = 1
        ticks.ended(name, now, lasted, failed=False)


def test_priority_decides_then_who_has_waited_longer() -> None:
    ticks = Ticks([Timing("a", 40), Timing("b", 20), Timing("c", 80, 5), Timing("d", 80, -1)], 0)
    known(ticks, {"a": 1, "b": 1, "c": 1, "d": 1})
    assert [turn.timing.name for turn in ticks.due(85)] == ["c", "b", "a", "d"]
    assert ticks.take(85, 2, 2) == ("c",)
    assert ticks.take(85, 1, 2) == ("b", "a")
    assert ticks.take(85, 1, 2) == ("d",)
    assert ticks.take(85, 1, 2) == ()


def test_short_models_share_an_invocation_of_bounded_length() -> None:
    names = [f"m{i}" for i in range(20)]
    ticks = Ticks([Timing(name, 30) for name in names], 0)
    known(ticks, dict.fromkeys(names, 2.0))
    first = ticks.take(30, 2, 2)
    assert len(first) == 7  # of 2 s each, in half of 30 s
    assert len(ticks.take(30, 1, 2)) == 7
    assert set(first) <= set(names)


def test_models_that_have_not_run_go_as_many_as_there_are_threads() -> None:
    ticks = Ticks([Timing(name, 30) for name in "abcde"], 0)
    assert ticks.take(0, 2, 2, together=3) == ("a", "b", "c")
    assert ticks.take(0, 1, 2, together=3) == ("d", "e")


def test_until_it_has_run_twice_a_rare_model_counts_as_slow() -> None:
    ticks = Ticks([Timing("rare", 3600, 9), Timing("rarer", 7200, 9), Timing("a", 30)], 0)
    assert ticks.take(0, 2, 2, together=4) == ("rare", "rarer")
    assert ticks.take(0, 1, 2, together=4) == ("a",)
    for _ in range(2):
        assert [ticks.slow(turn) for turn in ticks.turns.values()] == [True, True, False]
        ticks.ended("a", 1, 1, failed=False)
        ticks.ended("rare", 2, 1, failed=False)
        ticks.ended("rarer", 2, 900, failed=False)
    assert [ticks.slow(turn) for turn in ticks.turns.values()] == [False, True, False]


def test_a_cold_first_run_makes_no_model_slow() -> None:
    """Found by hand: after a cold start all models counted as slow and queued for one worker."""
    ticks = Ticks([Timing("slow", 60, 9), Timing("often", 10), Timing("less often", 15)], 0)
    assert ticks.take(0, 2, 2, together=4) == ("slow",)
    assert ticks.take(0, 1, 2, together=4) == ("often", "less often")
    ticks.ended("often", 25, 24, failed=False)
    ticks.ended("less often", 25, 24, failed=False)
    assert ticks.take(30, 1, 2, together=4) == ("often", "less often")
    ticks.ended("often", 31, 0.5, failed=False)
    ticks.ended("less often", 51, 20, failed=False)
    assert ticks.take(60, 1, 2, together=4) == ("often",), "less often is slow indeed: it waits"


def test_a_slow_model_leaves_the_last_worker_alone() -> None:
    ticks = Ticks([Timing("slow", 60, 9), Timing("slower", 60, 9), Timing("a", 30)], 0)
    known(ticks, {"slow": 100, "slower": 200, "a": 1})
    assert ticks.take(240, 2, 2) == ("slow",)
    assert ticks.take(240, 1, 2) == ("a",)
    assert ticks.take(240, 1, 2) == ()
    assert ticks.take(240, 2, 3) == ("slower",)


def test_of_one_worker_nothing_is_kept_free() -> None:
    ticks = Ticks([Timing("slow", 60), Timing("a", 30, -1)], 0)
    known(ticks, {"slow": 100, "a": 1})
    assert ticks.take(240, 1, 1) == ("slow",)


@pytest.mark.parametrize("seed", seeds(20))
def test_slow_models_hold_up_no_short_one(seed: int) -> None:
    """Random models, half of them slow: a short one waits for short invocations at most."""
    rng = random.Random(seed)
    short = {f"s{i}": rng.uniform(0.1, 1.0) for i in range(rng.randint(1, 8))}
    slow = {f"l{i}": rng.uniform(20, 900) for i in range(rng.randint(1, 4))}
    planned = [Timing(name, 30, rng.randint(0, 2)) for name in short]
    planned += [Timing(name, rng.choice([30, 60, 300]), rng.randint(0, 9)) for name in slow]
    ticks = Ticks(planned, 0)
    known(ticks, {**short, **slow})
    done = run(ticks, {**short, **slow}, 3000)
    starts = {name: [s for s, _, names in done if name in names] for name in short}
    for name, at in starts.items():
        assert len(at) > 95
        waited = [start % 30 for start in at]
        assert max(waited) < 15, name  # sum of all short ones is 8 s at most
        assert ticks.turns[name].skipped == 0
    first = max(timing.priority for timing in planned if timing.name in slow)
    urgent = {timing.name for timing in planned if timing.name in slow and timing.priority == first}
    assert urgent <= {name for *_, names in done for name in names}
    at_once = max(sum(s <= start < e for s, e, _ in done) for start, *_ in done)
    assert at_once <= 2


def test_backing_off_and_coming_back() -> None:
    ticks = Ticks([Timing("a", 30), Timing("b", 30)], 0)
    waits = []
    now = 0.0
    for _ in range(8):
        turn = ticks.turns["a"]
        now = turn.due
        turn.running = True
        ticks.ended("a", now + 1, 1, failed=True)
        waits.append(turn.due - now)
    assert waits == [30, 60, 120, 240, 480, CAP, CAP, CAP]
    assert ticks.turns["a"].skipped == 0, "what was left alone was not skipped"
    ticks.ended("a", 10_000, 1, failed=False)
    assert (ticks.turns["a"].failures, ticks.turns["a"].due) == (0, 10_020)
    assert ticks.turns["b"].due == 0, "the others go on"


def test_a_rare_model_is_tried_again_at_its_next_tick() -> None:
    ticks = Ticks([Timing("a", 3600)], 0)
    for failures in range(1, 5):
        ticks.ended("a", 3600.0 * failures, 1, failed=True)
        assert ticks.turns["a"].due == 3600.0 * (failures + 1)


def test_of_actions_the_earliest_deadline_goes_first() -> None:
    """It counts from the release; the greater priority comes before, no deadline last."""
    actions = [Timing("none", 900), Timing("late", 900, 0, 30.0), Timing("soon", 900, 0, 10.0)]
    ticks = Ticks([*actions, Timing("urgent", 900, 1)], now=0)
    for name in ticks.turns:
        ticks.turns[name].due, ticks.turns[name].tick = 900, 1
    for name, released in (("late", 100), ("none", 90), ("soon", 110), ("urgent", 119)):
        ticks.wake(name, 120, since=released)
    assert [turn.timing.name for turn in ticks.due(120)] == ["urgent", "soon", "late", "none"]
    ticks.turns["soon"].running = True
    ticks.ended("soon", 121, 1, failed=False)
    ticks.wake("soon", 125, since=124)
    assert [turn.timing.name for turn in ticks.due(125)] == ["urgent", "late", "soon", "none"]


def test_the_deadline_of_a_node() -> None:
    def node(**config: object) -> SimpleNamespace:
        given = SimpleNamespace(to_dict=lambda: config)
        return SimpleNamespace(config=given, unique_id="model.p.a", original_file_path="a.sql")

    found = [
        node(materialized="action", deadline="10 seconds"),
        node(materialized="action", meta={"deadline": "1 minute"}),
        node(materialized="table", deadline="10 seconds"),
        node(materialized="action", deadline="soon"),
    ]
    every = [one.deadline for one in timings(found, timedelta(seconds=5))]
    assert every == [10, 60, math.inf, math.inf]
