"""Hints that something is small: Spark's own estimate is the size of the whole table."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

FEW_KEYS = "_few_keys"
"""The alias of keys in a condition that other conditions imply.

The condition makes a reading smaller, and can be left out where that is done already.
"""


def broadcast(query: exp.Select, aliases: Iterable[str]) -> exp.Select:
    """The query with the hint that the relations called ``aliases`` are small."""
    names = [exp.to_identifier(alias) for alias in aliases]
    query.set("hint", exp.Hint(expressions=[exp.Anonymous(this="BROADCAST", expressions=names)]))
    return query


def few_keys(query: exp.Select, aliases: Iterable[str]) -> exp.Select:
    """The query of one column with that hint, its column called ``FEW_KEYS``."""
    (column,) = query.expressions
    query.set("expressions", [exp.alias_(column, FEW_KEYS)])
    return broadcast(query, aliases)
