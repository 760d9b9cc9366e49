"""What a random query is made of.

Every piece of text exists twice: `spark`, as a user would write it, and `duck`, for the oracle,
where every relation has a unique name (its *key*) and `$now` stands for the instant. So the judge
needs no translation between dialects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

HOUR = 3_600_000_000  # microseconds
NONE: frozenset[Any] = frozenset()


@dataclass(frozen=True)
class Text:
    """An expression: two texts, the relations it reads, how far off the grid (µs) it can change."""

    spark: str
    duck: str
    keys: frozenset[str] = NONE
    offsets: frozenset[int] = NONE

    @classmethod
    def of(
        cls, template: str, *parts: Text, duck: str | None = None, offsets: tuple[int, ...] = ()
    ) -> Text:
        """Fill `{}` slots in a template (and in its DuckDB form, where that differs)."""
        return cls(
            template.format(*(part.spark for part in parts)),
            (duck or template).format(*(part.duck for part in parts)),
            frozenset().union(*(part.keys for part in parts)),
            frozenset(offsets).union(*(part.offsets for part in parts)),
        )


@dataclass(frozen=True)
class Form:
    """A condition made of conditions. `{}` in the template are its arguments."""

    name: str
    template: str
    args: tuple[Cond, ...]
    duck: str | None = None


@dataclass(frozen=True)
class Exists:
    """[NOT] EXISTS (query)."""

    negated: bool
    query: Query


@dataclass(frozen=True)
class In:
    """value [NOT] IN (query)."""

    negated: bool
    value: Text
    query: Query


Cond = Text | Form | Exists | In


@dataclass(frozen=True)
class Relation:
    """A relation in FROM: a table, a CTE by name, or a derived table."""

    key: str
    alias: str
    table: str = ""
    cte: str = ""
    query: Query | None = None


@dataclass(frozen=True)
class Join:
    """One step of a FROM clause: `kind` is "," or the text before JOIN."""

    kind: str
    relation: Relation
    on: Cond | None = None
    using: tuple[str, ...] = ()
    using_duck: str = ""


@dataclass(frozen=True)
class Item:
    """One column of a select list."""

    text: Text
    name: str
    aliased: bool = True
    audit: bool = False  # reads the clock: no part of the answer


@dataclass(frozen=True)
class Select:
    """SELECT … FROM … WHERE …; `star` is what a user writes instead of the items."""

    items: tuple[Item, ...]
    joins: tuple[Join, ...]
    where: Cond | None = None
    star: str = ""
    distinct: bool = False
    grouped: bool = False

    @property
    def by_value(self) -> bool:
        """Are its rows identified by value?"""
        return self.distinct or self.grouped

    @property
    def names(self) -> tuple[str, ...]:
        """Output columns."""
        return tuple(item.name for item in self.items)

    @property
    def audits(self) -> tuple[str, ...]:
        """Those of them that read the clock."""
        return tuple(item.name for item in self.items if item.audit)


@dataclass(frozen=True)
class SetOp:
    """UNION ALL, UNION, INTERSECT or EXCEPT."""

    op: str
    left: Query
    right: Query

    @property
    def by_value(self) -> bool:
        """Are its rows identified by value?"""
        return self.op != "UNION ALL"

    @property
    def names(self) -> tuple[str, ...]:
        """Output columns: the left arm's."""
        return self.left.names

    @property
    def audits(self) -> tuple[str, ...]:
        """Those of them that read the clock."""
        return self.left.audits


@dataclass(frozen=True)
class With:
    """Common table expressions before a query."""

    ctes: tuple[tuple[str, Query], ...]
    body: Query

    @property
    def by_value(self) -> bool:
        """Are its rows identified by value?"""
        return self.body.by_value

    @property
    def names(self) -> tuple[str, ...]:
        """Output columns."""
        return self.body.names

    @property
    def audits(self) -> tuple[str, ...]:
        """Those of them that read the clock."""
        return self.body.audits


Query = Select | SetOp | With


def walk(node: Any) -> Iterator[Any]:
    """Every node of a query, itself first."""
    yield node
    for child in _children(node):
        yield from walk(child)


def _children(node: Any) -> Iterator[Any]:
    if is_dataclass(node) and not isinstance(node, Text):
        for field in fields(node):
            yield from _nodes(getattr(node, field.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)


def _nodes(value: Any) -> Iterator[Any]:
    if is_dataclass(value) or isinstance(value, tuple):
        yield value


def tables_of(query: Query) -> tuple[str, ...]:
    """The base tables a query reads."""
    return tuple(
        sorted({node.table for node in walk(query) if isinstance(node, Relation) and node.table})
    )


def offsets_of(query: Query) -> frozenset[int]:
    """How far off the grid the query can change."""
    return frozenset().union(*(node.offsets for node in walk(query) if isinstance(node, Text)))


__all__ = [
    "HOUR", "Cond", "Exists", "Form", "In", "Item", "Join", "Query", "Relation", "Select", "SetOp",
    "Text", "With", "offsets_of", "replace", "tables_of", "walk",
]  # fmt: skip
