"""Tells whether a block combines several rows: aggregates, window functions, groups, LIMIT."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.facts.from_clause import derived_tables

GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether this node is an aggregate function (or a window function without its OVER)."""
    return isinstance(node, exp.AggFunc | exp.RowNumber)


def own_parts(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the nodes in the select list and HAVING of a block, except those in subqueries."""
    having = select.args.get("having")
    for clause in [*select.selects, *([having] if having is not None else [])]:
        yield from clause.walk(prune=lambda node: isinstance(node, exp.Query))


def aggregates(select: exp.Select) -> bool:
    """Return whether a block has aggregates of its own, outside of window functions."""
    return any(is_aggregate(part) and not _windowed(part) for part in own_parts(select))


def is_global(select: exp.Select) -> bool:
    """Return whether a block gives exactly one row for all rows, even if there are none."""
    if select.args.get("group") is not None:
        return False
    return aggregates(select) or select.args.get("having") is not None


def _windowed(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def is_limited(node: exp.Expr) -> bool:
    """Return whether LIMIT or OFFSET stands at a query itself."""
    return node.args.get("limit") is not None or node.args.get("offset") is not None


def is_grouped(node: exp.Expr) -> bool:
    """Return whether the outermost block has aggregates, window functions, LIMIT or EXCEPT ALL."""
    if is_limited(node):
        return True
    if isinstance(node, exp.SetOperation):  # how many copies a value has is a count
        return isinstance(node, exp.Except | exp.Intersect) and not node.args.get("distinct")
    assert isinstance(node, exp.Select)
    if node.args.get("qualify") is not None or node.args.get("having") is not None:
        return True
    group = node.args.get("group")
    if group is not None and group.find(*GROUPINGS) is not None:
        return True
    return any(is_aggregate(part) or isinstance(part, exp.Window) for part in own_parts(node))


def by_values(node: exp.Expr) -> bool:
    """Return whether the answers of an arm count by value, with CTEs written out (aggregates, 1).

    A derived table with DISTINCT or a set operation keeps the identity of what is joined to it; one
    with an aggregate, a window function or a LIMIT makes the arm count by value.
    """
    if isinstance(node, exp.SetOperation) or node.args.get("distinct"):
        return True
    return node.args.get("group") is not None or _grouped_below(node)


def _grouped_below(node: exp.Expr) -> bool:
    """Return whether a query or a table in its FROM has an aggregate, window function or LIMIT."""
    node = node.unnest() if isinstance(node, exp.Subquery) else node
    if is_grouped(node):
        return True
    if isinstance(node, exp.SetOperation):
        return _grouped_below(node.this) or _grouped_below(node.expression)
    return any(_grouped_below(one) for one in derived_tables(node))
