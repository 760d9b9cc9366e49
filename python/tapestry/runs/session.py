"""The one thing a run asks of an engine: take SQL text, give rows."""

from __future__ import annotations

from typing import Any, Protocol


class Session(Protocol):
    """A connection that speaks Spark SQL; session, thrift and connect look alike through it."""

    def run(self, sql: str) -> None:
        """Execute a statement whose rows nobody wants."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return all of its rows."""
        ...
