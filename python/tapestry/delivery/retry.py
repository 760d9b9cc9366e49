"""Retries an action, each time after a longer wait, until patience is over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

FIRST, LONGEST = 0.5, 30.0
"""Seconds before the second attempt, and between two attempts at most."""

Result = TypeVar("Result")


class SinkError(Exception):
    """A delivery that a sink did not accept; the message holds no secret and no URL path."""


class Unavailable(SinkError):
    """A failure that may pass; ``after`` is how many seconds the sink asked to wait."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class PatienceOver(Unavailable):
    """A failure for lack of time; the error of the attempt before is more informative."""


class Refused(SinkError):
    """A failure that a retry will not change."""


def retrying(
    action: Callable[[], Result],
    attempts: int,
    deadline: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """The result of ``action``; while it is Unavailable it is called again, at most ``attempts``
    times and not beyond ``deadline`` (of ``clock``).

    Waits double from FIRST on and vary by half, so that many senders do not come back at once.
    """
    last: Unavailable | None = None
    for attempt in range(attempts):
        try:
            return action()
        except PatienceOver as error:
            if last is None:
                raise
            raise last from error
        except Unavailable as error:
            last = error
            wait = min(LONGEST, FIRST * 2**attempt) * random.uniform(0.5, 1.0)
            wait = max(wait, error.after or 0.0)
            if attempt + 1 == attempts or clock() + wait > deadline:
                raise
        sleep(wait)
    raise AssertionError("attempts is at least 1")
