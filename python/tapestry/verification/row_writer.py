"""The interface by which a FROM clause uses the writer of its statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sqlglot import exp

from tapestry.verification.restriction import WHOLE, Restriction
from tapestry.verification.rows import Around
from tapestry.verification.scopes import Ctes


class RowWriter(Protocol):
    """Writes queries and conditions over instants, and knows the sources that they read.

    reads
        Source -> name of its CTE.
    appended, ending
        The sources whose rows arrive; those whose rows can have an end.
    """

    reads: Mapping[str, str]
    appended: frozenset[str]
    ending: frozenset[str]

    def name(self, kind: str) -> str:
        """Return a new generated alias."""
        ...

    def answers(
        self,
        node: exp.Expr,
        ctes: Ctes,
        restriction: Restriction = WHOLE,
        derived: bool = False,
    ) -> exp.Query:
        """The rows of a query with ``_s`` and ``_key``, arm by arm."""
        ...

    def rows(self, node: exp.Expr, ctes: Ctes, restriction: Restriction = WHOLE) -> exp.Query:
        """The rows of a query with ``_s``."""
        ...

    def condition(self, node: exp.Expr, ctes: Ctes, around: Around) -> exp.Expr:
        """A condition (or a value) at an instant: the clock and the subqueries in it replaced."""
        ...
