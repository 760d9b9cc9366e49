"""The one thing a run asks of an engine: take SQL text, give rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    heed = getattr(session, "for_little", None)
    if heed is None or not little:
        yield
        return
    with heed():
        yield
