"""Stops a statement when it has taken too long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread

logger = logging.getLogger(__name__)
AGAIN = 0.5
"""Seconds until it is told to stop once more: between two jobs there is nothing to be stopped."""
PATIENCE = 30


@dataclass
class Stopped:
    """Tells whether a statement was told to stop."""

    told: bool = False


@contextmanager
def stop_after(
    seconds: float, stoppable: AbstractContextManager[Callable[[], None]]
) -> Iterator[Stopped]:
    """Stop the statements inside, from another thread, after so many seconds.

    ``stoppable`` is entered by the executing thread, and yields a function that stops it. That is
    called again until the statement ends, and never afterwards.
    """
    found, over = Stopped(), Event()

    def watch(cancel: Callable[[], None]) -> None:
        wait = seconds
        while not over.wait(wait):
            found.told, wait = True, AGAIN
            try:
                cancel()
            except Exception as error:
                logger.warning("a statement was not stopped: %s", error)

    with stoppable as cancel:
        thread = Thread(target=watch, args=(cancel,), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            over.set()
            thread.join(PATIENCE)
