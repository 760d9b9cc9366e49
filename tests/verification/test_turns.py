"""Every instant has its turn once in N runs, and the window's own part takes turns too."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import pytest

from tapestry.verification.turns import SHARE_OF_WINDOW, turn

LOW = datetime(2019, 4, 26, 3, tzinfo=timezone.utc)


@pytest.mark.parametrize("turns", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("days", [0, 1, 40, 2600])
def test_every_row_has_its_turn(turns: int, days: int) -> None:
    """N runs look at every instant up to t, also before the beginning as it was known."""
    rng, t = random.Random(turns + days), LOW + timedelta(days=days, hours=1)
    every = [turn(n, turns, LOW, None, t) for n in range(turns)]
    random_ones = [LOW + (t - LOW) * rng.random() for _ in range(50)]
    for instant in (*random_ones, LOW, t, LOW - timedelta(days=9)):
        assert sum(_looks(ranges, instant) for ranges in every) == 1


def test_the_window_takes_turns_by_itself() -> None:
    """What arrived in ``(tau, t]`` is looked at within a few runs."""
    tau, t = LOW + timedelta(days=100), LOW + timedelta(days=101)
    parts = [turn(n, 10**6, LOW, tau, t)[-1:] for n in range(SHARE_OF_WINDOW)]
    for number in range(101):
        s = tau + (t - tau) * number / 100
        assert any(_looks(ranges, s) for ranges in parts) == (tau < s <= t)


def test_a_turn_is_small() -> None:
    """About one part in N, of a history of any length."""
    for days in (3, 30, 365, 4000):
        t = LOW + timedelta(days=days)
        for n in range(0, 100, 9):
            ranges = turn(n, 100, LOW, None, t)
            inside = sum((min(high, t) - max(low, LOW) for low, high in ranges), timedelta())
            assert inside <= (t - LOW) / 40


def _looks(ranges: tuple[tuple[datetime, datetime], ...], s: datetime) -> bool:
    return any(low <= s < high for low, high in ranges)
