"""Waits between attempts."""

from __future__ import annotations

import pytest

from tapestry.delivery import retry
from tapestry.delivery.retry import PatienceOver, Refused, Unavailable, retrying


def test_waits_double_and_end_in_time() -> None:
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    def fail() -> None:
        raise Unavailable("no")

    with pytest.raises(Unavailable):
        retrying(fail, 6, 1e9, sleep, lambda: now[0])
    assert len(waits) == 5
    assert all(retry.FIRST * 2**i / 2 <= wait <= retry.FIRST * 2**i for i, wait in enumerate(waits))
    waits.clear()
    with pytest.raises(Unavailable):
        retrying(fail, 99, now[0] + 5, sleep, lambda: now[0])
    assert sum(waits) <= 5

    def refuse() -> None:
        raise Refused("never")

    waits.clear()
    with pytest.raises(Refused):
        retrying(refuse, 9, 1e9, sleep, lambda: now[0])
    assert waits == []


def test_what_the_last_attempt_said_is_raised_when_no_time_is_left_for_another() -> None:
    said: list[Exception] = [PatienceOver("no time"), Unavailable("did not answer")]

    def fail() -> None:
        raise said.pop()

    with pytest.raises(Unavailable, match="did not answer"):
        retrying(fail, 3, 1e9, lambda _: None, lambda: 0.0)
    assert said == []
    said.append(PatienceOver("no time"))
    with pytest.raises(PatienceOver, match="no time"):
        retrying(fail, 3, 1e9, lambda _: None, lambda: 0.0)
