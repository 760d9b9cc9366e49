"""Equality classes of columns: a condition on one holds of the others, where equal is identical.

Not so of DOUBLE (``-0.0 = 0.0``), of text with a collation, or of two types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql.facts.common_types import type_of
from tapestry.sql.infer.terms import Key

_IDENTICAL = frozenset(
    {"tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "boolean"}
)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_CONNECTORS = (exp.And, exp.Or, exp.Not, exp.Paren)


@dataclass
class Classes:
    """The columns that are equal, and the equalities that make them so.

    ``texts`` are the columns of text that is compared byte by byte.
    """

    texts: Collection[Key]
    links: dict[Key, list[tuple[Key, int]]] = field(default_factory=dict)
    columns: dict[Key, exp.Column] = field(default_factory=dict)

    @classmethod
    def of(cls, conditions: Sequence[exp.Expr], texts: Collection[Key]) -> Classes:
        """Return the classes of some conditions, each known by its number."""
        found = cls(texts)
        for number, condition in enumerate(conditions):
            node = condition.unnest()
            if isinstance(node, exp.EQ | exp.NullSafeEQ):
                found.link(node.this.unnest(), node.expression.unnest(), number)
        return found

    def link(self, one: exp.Expr, other: exp.Expr, number: int) -> None:
        """Add an equality, if it is one of two columns."""
        if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
            return
        if self.type_of(one) == self.type_of(other) != "":
            here, there = key_of(one), key_of(other)
            self.columns[here], self.columns[there] = one, other
            self.links.setdefault(here, []).append((there, number))
            self.links.setdefault(there, []).append((here, number))

    def type_of(self, column: exp.Column) -> str:
        """Return the type of a column whose equal values are identical; "" for any other."""
        name = type_of(column)
        if name == "string":
            bare = column.is_type("text") and key_of(column) in self.texts
            return name if bare else ""
        return name if name in _IDENTICAL or name.startswith("decimal(") else ""

    def equal_to(self, key: Key) -> Iterator[tuple[exp.Column, frozenset[int]]]:
        """The columns that equal this one, each with the equalities on the shortest way there."""
        ways: dict[Key, frozenset[int]] = {key: frozenset()}
        todo = [key]
        for here in todo:
            for there, number in self.links.get(here, ()):
                if there not in ways:
                    ways[there] = ways[here] | {number}
                    todo.append(there)
                    yield self.columns[there], ways[there]

    def carried(self, condition: exp.Expr) -> Iterator[tuple[exp.Expr, Key, frozenset[int]]]:
        """Yield the condition rewritten to each column that equals its only column.

        Its column, and the equalities that carry it, come with it. Only conditions that raise no
        error, whatever a value is: they are asked of rows that the author did not ask of.
        """
        keys = {key_of(column) for column in condition.find_all(exp.Column)}
        if len(keys) != 1 or not (keys & self.links.keys()) or not self.harmless(condition):
            return
        (key,) = keys
        for column, way in self.equal_to(key):
            yield over(condition, column), key_of(column), way

    def harmless(self, condition: exp.Expr) -> bool:
        """Return whether a condition only compares a column with constants of its own type."""
        node = condition.unnest()
        if isinstance(node, _CONNECTORS):
            return all(map(self.harmless, node.iter_expressions()))
        if isinstance(node, exp.Column):
            return type_of(node) == "boolean"
        if isinstance(node, _COMPARISONS):
            return self.plain([node.this, node.expression])
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return self.plain([node.this, node.args["low"], node.args["high"]])
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            return self.plain([node.this, *node.expressions])
        return False

    def plain(self, operands: Iterable[exp.Expr]) -> bool:
        """Return whether these are one column and constants that do not change its type family."""
        column, *values = sorted(
            (one.unnest() for one in operands), key=lambda one: not isinstance(one, exp.Column)
        )
        if not isinstance(column, exp.Column):
            return False
        text = type_of(column) in ("string", "date", "timestamp", "timestamp_ntz")
        number = not text and type_of(column) != "boolean"
        return all(_is_value(value, text, number) for value in values)


def _is_value(value: exp.Expr, text: bool, number: bool) -> bool:
    """Return whether a value is a literal, or a date or timestamp of one."""
    if isinstance(value, exp.Neg):
        value, text = value.this, False
    if isinstance(value, exp.Boolean):
        return not (text or number)
    if type(value) is exp.Cast and value.is_type("date", "timestamp", "timestamptz"):
        value = value.this
    return isinstance(value, exp.Literal) and (text if value.is_string else number)


def over(condition: exp.Expr, column: exp.Column) -> exp.Expr:
    """Return the condition with another column in place of its own."""

    def replace(node: exp.Expr) -> exp.Expr:
        return column.copy() if isinstance(node, exp.Column) else node

    return condition.copy().transform(replace, copy=False)


def key_of(column: exp.Column) -> Key:
    """Return the alias and name of a column."""
    return column.table, column.name
