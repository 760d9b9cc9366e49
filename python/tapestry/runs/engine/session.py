"""The one thing a run asks of an engine: take SQL text, give rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


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


@contextmanager
def meanwhile(session: Session, task: Callable[[], T], wanted: bool) -> Iterator[Callable[[], T]]:
    """Do something while what is inside is executed; what is given waits for its result.

    Neither may depend on the other.  Where a session cannot do two things at once, or that is not
    ``wanted``, the task is done first.  When this is left the task is over, however it went.
    """
    begin: Callable[[Callable[[], T]], Future[T]] | None = getattr(session, "meanwhile", None)
    if begin is None or not wanted:
        done = task()
        yield lambda: done
        return
    future = begin(task)
    try:
        yield future.result
    finally:
        wait([future])


def _told(session: Session, what: str, wanted: bool) -> AbstractContextManager[None]:
    heed: Callable[[], AbstractContextManager[None]] | None = getattr(session, what, None)
    return nullcontext() if heed is None or not wanted else heed()
