"""Refuses queries that no check can compare with the definition yet."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.read.total_orders import by_place

ORDERED = (exp.Last, exp.LastValue, exp.NthValue)


def refuse_unchecked(tree: exp.Query) -> None:
    """Raise Refusal for values that depend on the order of equal rows."""
    for window in tree.find_all(exp.Window):
        if window.this.find(*ORDERED) is not None and not by_place(window):
            raise Refusal(
                "the last of rows that are equal in the window's order cannot be told",
                window.sql("spark"),
                "write ROWS BETWEEN ... behind its ORDER BY",
                code="not-checkable",
            )
