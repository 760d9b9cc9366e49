"""What a run read, where the engine says so without being asked to work for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tapestry.runs.engine.session import Session


@dataclass
class Reading:
    """Files of tables and bytes that were read; None: nobody knows.

    ``look`` finds them out, once the reading is over: an engine's counters come after its answers.
    """

    files: int | None = None
    bytes: int | None = None
    look: Callable[[], None] = field(default=lambda: None, compare=False)


@contextmanager
def measuring(session: Session) -> Iterator[Reading]:
    """Have what is executed inside measured; a session without ``measured`` measures nothing."""
    measured = getattr(session, "measured", None)
    if measured is None:
        yield Reading()
        return
    with measured() as found:
        yield found
