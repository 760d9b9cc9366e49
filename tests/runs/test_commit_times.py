"""When the versions of a table were made, from what is kept and what the log still says."""

from __future__ import annotations

import random
from datetime import timedelta

from tapestry.instants import EPOCH
from tapestry.runs.sources.commit_times import joined, lowest_unread


def test_what_was_once_told_is_told_again_whatever_the_log_forgets() -> None:
    rng = random.Random(0)
    for _ in range(300):
        enabled, cleaned, until = sorted(rng.sample(range(30), 3))
        made = {v: 1000 * v + rng.randint(0, 999) for v in range(enabled, 40)}
        seen: dict[int, int] = {}
        kept: dict[int, int] = {}
        for version in range(until, 40, 3):
            start = lowest_unread(kept, enabled)
            assert start not in kept
            log = {v: made[v] for v in range(max(start, cleaned), version + 1)}
            times = joined(kept, log, enabled, version)
            assert times is not None
            assert times.lost == (not kept and cleaned > enabled)
            told = {v: times.millis[v - times.first] for v in range(times.first, version + 1)}
            assert list(told.values()) == sorted(told.values())
            assert all(told[v] == made[v] for v in log)
            assert all(told[v] == at for v, at in seen.items())
            assert times.at(0) == EPOCH + timedelta(milliseconds=times.millis[0])
            seen = told
            assert kept.keys().isdisjoint(times.new)
            kept.update(map(tuple, times.to_keep()))  # type: ignore[arg-type]
            assert kept == told
            cleaned = rng.randint(cleaned, version)


def test_a_hole_in_what_is_kept_is_lost_unless_the_log_fills_it() -> None:
    kept = {0: 10, 1: 20, 3: 40}
    assert lowest_unread(kept, 0) == 2
    filled = joined(kept, {2: 30, 3: 40, 4: 50}, 0, 4)
    assert filled is not None
    assert (filled.lost, filled.millis, filled.new) == (False, (10, 20, 30, 40, 50), (2, 4))
    hole = joined(kept, {4: 50}, 0, 4)
    assert hole is not None
    assert (hole.lost, hole.millis) == (True, (10, 20, 40, 40, 50))


def test_a_version_that_nothing_tells_of_has_no_time() -> None:
    assert joined({}, {}, 0, 3) is None
    assert joined({0: 1}, {1: 2}, 0, 3) is None
