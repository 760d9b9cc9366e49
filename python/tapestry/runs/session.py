"""The one thing a run asks of an engine: take SQL text, give rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol


class Session(Protocol):
    """A connection that speaks Spark SQL; session, thrift and connect look alike through it."""

    def run(self, sql: str) -> None:
        """Execute a statement whose rows nobody wants."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return all of its rows."""
        ...


def keeps_memory(session: Session) -> bool:
    """Does what Spark keeps in memory stay there, as where it runs in this process?

    On a cluster what a lost executor kept is computed anew, and a condition that asks another table
    might then find something else there.
    """
    return bool(getattr(session, "embedded", False))


@contextmanager
def for_little(session: Session, little: bool) -> Iterator[None]:
    """What is executed inside reads kilobytes; a session that has a way to heed that does so."""
    with _told(session, "for_little", little):
        yield


@contextmanager
def planned_once(session: Session, wanted: bool) -> Iterator[None]:
    """What is executed inside joins nothing whose size is unknown: to plan it again is no use."""
    with _told(session, "planned_once", wanted):
        yield


def _told(session: Session, what: str, wanted: bool) -> AbstractContextManager[None]:
    heed: Callable[[], AbstractContextManager[None]] | None = getattr(session, what, None)
    return nullcontext() if heed is None or not wanted else heed()
