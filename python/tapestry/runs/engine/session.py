"""What a run asks of an engine: take SQL text, give rows, and say what else it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from tapestry.runs.engine.capabilities import ONLY_SQL, Capabilities

T = TypeVar("T")


class Session(Protocol):
    """A connection that speaks Spark SQL; session, thrift and connect look alike through it.

    ``can`` says what this one offers besides.  A class that names this one as its base and says
    nothing of it offers SQL only.
    """

    can: Capabilities = ONLY_SQL

    def run(self, sql: str) -> None:
        """Execute a statement whose rows nobody wants."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return all of its rows."""
        ...


def for_little(session: Session, little: bool) -> AbstractContextManager[None]:
    """What is executed inside reads kilobytes; a session that has a way to heed that does so."""
    return session.can.for_little() if little else nullcontext()


def planned_once(session: Session, wanted: bool) -> AbstractContextManager[None]:
    """What is executed inside joins nothing whose size is unknown: to plan it again is no use."""
    return session.can.planned_once() if wanted else nullcontext()


@contextmanager
def meanwhile(session: Session, task: Callable[[], T], wanted: bool) -> Iterator[Callable[[], T]]:
    """Do something while what is inside is executed; what is given waits for its result.

    Neither may depend on the other.  Where a session cannot do two things at once, or that is not
    ``wanted``, the task is done first.  When this is left the task is over, however it went.
    """
    begin = session.can.meanwhile
    if begin is None or not wanted:
        done = task()
        yield lambda: done
        return
    future = begin(task)
    try:
        yield future.result
    finally:
        wait([future])
