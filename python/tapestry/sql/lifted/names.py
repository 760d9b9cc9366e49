"""What the parts of a lifted query speak of: names of its columns, and who lifts what is in it."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

AT, RANK = "_instant", "_rank"
"""The instant of a row, and its place among those of one instant."""
ROWS_KEY = "_rows_key"
"""What identifies a row of FROM."""
KEY_PLACE = "_key"
"""Qualifies a column that stands for the component of a key whose number is its name."""


class Lifts(Protocol):
    """Lifts queries over instants, and names what it makes."""

    def name(self, kind: str) -> str:
        """A new alias of our own."""

    def instants(self, alias: str) -> exp.Table:
        """The instants of events, each once."""

    def rows(self, node: exp.Expr, keyed: bool = False) -> exp.Query:
        """The rows of a query at every instant."""
