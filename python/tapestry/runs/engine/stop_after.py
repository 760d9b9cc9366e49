"""A statement is stopped when it has taken too long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

logger = logging.getLogger(__name__)
AGAIN = 0.5
"""Seconds until it is told to stop once more: between two jobs there is nothing to be stopped."""
PATIENCE = 30


@dataclass
class Stopped:
    """Was it told to stop?"""

    told: bool = False


@contextmanager
def stop_after(seconds: float, cancel: Callable[[], None]) -> Iterator[Stopped]:
    """Call ``cancel``, from another thread, when what is inside has taken so many seconds.

    It is called again until that ends, and never afterwards.
    """
    found, over = Stopped(), Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            found.told, wait = True, AGAIN
            try:
                cancel()
            except Exception as error:
                logger.warning("a statement was not stopped: %s", error)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(PATIENCE)
