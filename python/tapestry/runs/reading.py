"""What a run read, where the engine says so without being asked to work for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tapestry.runs.session import Session


@dataclass
class Reading:
    """Files of tables and bytes that were read; None: nobody knows."""

    files: int | None = None
    bytes: int | None = None


@contextmanager
def measuring(session: Session) -> Iterator[Reading]:
    """Measure what is executed inside; a session without ``measured`` measures nothing."""
    measured = getattr(session, "measured", None)
    if measured is None:
        yield Reading()
        return
    with measured() as found:
        yield found
