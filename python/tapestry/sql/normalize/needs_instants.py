"""Tells which arms are evaluated at instants (strategy 5), and what identifies their answers.

Aggregates, window functions, LIMIT and scalar subqueries, at whatever depth: aggregates, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.facts.grouping import aggregates, is_grouped
from tapestry.sql.normalize.scope import Scope, with_ctes
from tapestry.sql.read.parse import table_name
from tapestry.sql.read.refuse_unsupported import is_global_aggregate


def needs_instants(node: exp.Expr, scope: Scope) -> bool:
    """Return whether an arm, at any depth, has a part that requires evaluation at instants."""
    return any(True for _ in _reasons(node, scope, set()))


def _reasons(node: exp.Expr, scope: Scope, opened: set[int]) -> Iterator[exp.Expr]:
    """Yield the queries of an arm that require evaluation at instants, CTEs included."""
    while isinstance(node, exp.Subquery):
        scope = with_ctes(node, scope)
        if node.args.get("limit") is not None:
            yield node
        node = node.this
    if id(node) in opened:
        return
    opened.add(id(node))
    scope = with_ctes(node, scope)
    if isinstance(node, exp.Query) and _counts(node):
        yield node
    for part in node.walk(prune=lambda one: one is not node and isinstance(one, exp.Query)):
        if isinstance(part, exp.Table) and (name := table_name(part)) in scope.ctes:
            body, around = scope.ctes[name]
            yield from _reasons(body, around, opened)
        elif isinstance(part, exp.Query) and part is not node and not _in_with(part):
            scalar = isinstance(part, exp.Subquery) and is_scalar(part)
            if scalar or (isinstance(node, exp.Select) and is_shown(part, node)):
                yield part
            yield from _reasons(_looked_at(part), scope, opened)


def _counts(node: exp.Query) -> bool:
    if isinstance(node, exp.Select):
        having = node.args.get("having")
        if having is not None and node.args.get("group") is not None and not aggregates(node):
            bare = node.copy()
            bare.set("having", None)  # a condition on what it groups by is one of WHERE
            return is_grouped(bare)
    return isinstance(node, exp.Select | exp.SetOperation) and is_grouped(node)


def _looked_at(query: exp.Expr) -> exp.Expr:
    """Return a subquery without the parts that EXISTS ignores."""
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    if not isinstance(query.parent, exp.Exists) or not isinstance(inner, exp.Select):
        return query
    bare = inner.copy()
    limit = bare.args.get("limit")
    count = None if limit is None else limit.args.get("expression")
    if count is not None and count.is_int and int(count.this) > 0:
        bare.set("limit", None)
    if is_global_aggregate(inner):
        return exp.select("1")
    if not bare.args.get("group"):
        bare.set("expressions", [exp.Literal.number(1)])
    return bare


def _in_with(query: exp.Expr) -> bool:
    return isinstance(query.parent, exp.CTE)


def is_scalar(query: exp.Subquery) -> bool:
    """Return whether a subquery is used as a value."""
    parent = query.parent
    if isinstance(parent, exp.In):
        return query.arg_key != "query"
    return not isinstance(
        parent, exp.From | exp.Join | exp.Subquery | exp.SetOperation | exp.Exists | exp.CTE
    )


def is_shown(query: exp.Expr, select: exp.Select) -> bool:
    """Return whether a subquery is in a block's select list, as a value or in EXISTS or IN."""
    part = query
    while part.parent is not None and part.parent is not select:
        part = part.parent
    return part.parent is select and part.arg_key == "expressions"
