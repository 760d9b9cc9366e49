"""Which arms are evaluated at instants (strategy 5), and what identifies their answers.

Aggregates, window functions, LIMIT and scalar subqueries, at whatever depth: aggregates, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.normalize.scope import Scope, with_ctes
from tapestry.sql.read.open_parentheses import encloses_relation
from tapestry.sql.read.parse import table_name
from tapestry.sql.read.refuse_unsupported import is_global_aggregate

GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def is_aggregate(node: exp.Expr) -> bool:
    """Is this node itself an aggregate function (or a window function without its OVER)?"""
    return isinstance(node, exp.AggFunc | exp.RowNumber)


def own_parts(select: exp.Select) -> Iterator[exp.Expr]:
    """What stands in the select list and HAVING of a block, but for subqueries."""
    having = select.args.get("having")
    for clause in [*select.selects, *([having] if having is not None else [])]:
        yield from clause.walk(prune=lambda node: isinstance(node, exp.Query))


def aggregates(select: exp.Select) -> bool:
    """Has a block aggregates of its own, outside of window functions?"""
    return any(is_aggregate(part) and not _windowed(part) for part in own_parts(select))


def is_global(select: exp.Select) -> bool:
    """Does a block give one row of all rows, be they none?"""
    if select.args.get("group") is not None:
        return False
    return aggregates(select) or select.args.get("having") is not None


def _windowed(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def is_grouped(node: exp.Expr) -> bool:
    """Has a query an aggregate, a window function, a LIMIT, EXCEPT ALL in its outermost block?"""
    if node.args.get("limit") is not None or node.args.get("offset") is not None:
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


def needs_instants(node: exp.Expr, scope: Scope) -> bool:
    """Has an arm, at any depth, what only an evaluation at instants covers?"""
    return any(True for _ in _reasons(node, scope, set()))


def _reasons(node: exp.Expr, scope: Scope, opened: set[int]) -> Iterator[exp.Expr]:
    """The queries of an arm that only an evaluation at instants covers, CTEs included."""
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
    """A subquery without what EXISTS does not look at."""
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
    """Does a subquery stand where a value does?"""
    parent = query.parent
    if isinstance(parent, exp.In):
        return query.arg_key != "query"
    return not isinstance(
        parent, exp.From | exp.Join | exp.Subquery | exp.SetOperation | exp.Exists | exp.CTE
    )


def is_shown(query: exp.Expr, select: exp.Select) -> bool:
    """Does a subquery stand in the select list of a block, as a value or in EXISTS or IN?"""
    part = query
    while part.parent is not None and part.parent is not select:
        part = part.parent
    return part.parent is select and part.arg_key == "expressions"


def by_values(node: exp.Expr) -> bool:
    """Do the answers of an arm, its CTEs written out, count by value (aggregates, section 1)?

    A derived table with DISTINCT or a set operation keeps the identity of what is joined to it;
    one with an aggregate, a window function or a LIMIT makes the arm count by value.
    """
    if isinstance(node, exp.SetOperation) or node.args.get("distinct"):
        return True
    return node.args.get("group") is not None or _grouped_below(node)


def _grouped_below(node: exp.Expr) -> bool:
    """Has a query, or a table of its FROM clause, an aggregate, a window function or a LIMIT?"""
    node = node.unnest() if isinstance(node, exp.Subquery) else node
    if is_grouped(node):
        return True
    if isinstance(node, exp.SetOperation):
        return _grouped_below(node.this) or _grouped_below(node.expression)
    return any(_grouped_below(one) for one in derived_tables(node))


def derived_tables(select: exp.Expr) -> Iterator[exp.Subquery]:
    """The derived tables of a FROM clause, those in parentheses included."""
    clauses = [select.args.get("from_"), *(select.args.get("joins") or [])]
    left = [clause.this for clause in clauses if clause is not None]
    while left:
        relation = left.pop(0)
        left += [join.this for join in relation.args.get("joins") or []]
        if encloses_relation(relation):
            left.append(relation.this)
        elif isinstance(relation, exp.Subquery):
            yield relation
