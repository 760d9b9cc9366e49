"""Finds the columns of an expression that do not belong to its own subqueries."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def free_columns(node: exp.Expr, bound: frozenset[str] = frozenset()) -> Iterator[exp.Column]:
    """The columns of an expression that no FROM clause inside of it gives."""
    if isinstance(node, exp.Column):
        if node.table not in bound:
            yield node
        return
    if isinstance(node, exp.Select):
        relations = [node.args.get("from_"), *node.args.get("joins", [])]
        bound |= {relation.this.alias_or_name for relation in relations if relation is not None}
    for child in node.iter_expressions():
        yield from free_columns(child, bound)
