"""A query on its way through the passes, and what a pass is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.arms import OuterArm
from tapestry.sql.branches.order import Assumption
from tapestry.sql.catalog import Catalog


@dataclass(frozen=True)
class QueryState:
    """A query as passes over the IR take and return it.

    written
        The author's text as a tree; ``sql`` is the text.
    named
        The sources that the text names, with its views inlined.
    begin, assume
        The configured begin, and the orders of arrivals that the author knows.
    assumptions
        Those, read.
    audit
        The columns that read the clock: they are no part of an answer.
    """

    sql: str
    written: exp.Query
    catalog: Catalog
    columns: tuple[str, ...]
    named: tuple[str, ...]
    arms: tuple[OuterArm, ...]
    begin: datetime | None = None
    assume: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    def with_arms(self, arms: tuple[OuterArm, ...]) -> QueryState:
        """Return the query with other arms."""
        return replace(self, arms=arms)

    @contextmanager
    def as_place(self) -> Iterator[None]:
        """Give refusals without a place the whole text as their place."""
        try:
            yield
        except Refusal as refusal:
            raise Refusal(
                refusal.reason, refusal.where or self.sql, refusal.hint, code=refusal.code
            ) from None


@dataclass(frozen=True)
class Pass:
    """A step over the IR, and the reason why it changes no answer."""

    function: Callable[[QueryState], QueryState]
    why: str

    @property
    def name(self) -> str:
        """The name of the function and of its file."""
        return self.function.__name__
