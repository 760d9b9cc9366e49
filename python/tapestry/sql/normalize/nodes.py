"""Predicates on nodes of a resolved query, and the readings of the clock in its conditions."""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.ir import Arm, Condition, all_of
from tapestry.sql.normalize.scope import Scope

RESOLVED = "resolved"
"""Marks a column in a condition that is one of a base table already."""


def with_clocks(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A condition with the clock in place of columns of derived tables that read it.

    Sound because such a column is by definition its expression: a comparison with it is one with
    the clock, and is solved as such.
    """

    def replace(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.find_ancestor(exp.Query) is not None:
            return part
        value = scope.column(part)
        if not timing.contains_now(value):
            return part
        for column in value.find_all(exp.Column):
            column.meta[RESOLVED] = True
        return timing.wrapped(value)

    return node.copy().transform(replace, copy=False)


def is_name(node: exp.Expr) -> TypeGuard[exp.Column]:
    """Return whether a node is a column as the author wrote it, to be resolved by a scope."""
    return isinstance(node, exp.Column) and not node.meta.get(RESOLVED)


def own_size(query: exp.Expr) -> int:
    """The nodes of a query without those of the queries in it; literals cost next to nothing."""

    def is_other(node: exp.Expr) -> bool:
        return isinstance(node, exp.Query) and node is not query

    return sum(not isinstance(node, exp.Literal) for node in query.walk(prune=is_other))


def has_laterals(join: exp.Join) -> bool:
    """Return whether a generator follows the join; it makes no row of a look-up without a match."""
    select = join.find_ancestor(exp.Select)
    return select is not None and bool(select.args.get("laterals"))


def is_listed(node: exp.Expr) -> bool:
    """Return whether the columns of a relation are given names in FROM."""
    alias = node.args.get("alias")
    return alias is not None and bool(alias.columns)


def without_order(node: exp.Expr) -> exp.Expr:
    """Remove ORDER BY, and a LIMIT of at least one row, which EXISTS ignores."""
    copy = node.copy()
    copy.set("order", None)
    limit = copy.args.get("limit")  # or FETCH, which is refused
    count = None if limit is None else limit.args.get("expression")
    if count is not None and count.is_int and int(count.this) > 0:
        copy.set("limit", None)
    return copy


def narrowed(arm: Arm, condition: exp.Expr) -> Arm:
    """Return the arm restricted by a further condition."""
    return Arm(arm.tables, all_of(arm.where, Condition(condition)), arm.select)


def is_union_all(node: exp.Expr) -> bool:
    """Return whether a query is a UNION ALL."""
    return isinstance(node, exp.Union) and not node.args.get("distinct")
