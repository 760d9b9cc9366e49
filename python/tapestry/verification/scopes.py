"""Small facts about a resolved query's tree: visible CTEs, arms, counting by value."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.facts.from_clause import Ctes, opened_in, relations_of
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.read.open_clauses import aggregates_in, parts
from tapestry.sql.read.parse import table_name


def arms(node: exp.Expr, ctes: Ctes) -> Iterator[tuple[exp.Expr, Ctes]]:
    """The arms of nested UNION ALLs from left to right; a query itself where there is none."""
    node, ctes = opened_in(node, ctes)
    if isinstance(node, exp.Union) and not node.args.get("distinct") and not is_limited(node):
        yield from arms(node.this, ctes)
        yield from arms(node.expression, ctes)
    else:
        yield node, ctes


def skips_all(node: exp.Expr) -> bool:
    """Return whether LIMIT and OFFSET may remove all rows of a query."""
    limit = node.args.get("limit")
    none = limit is not None and not (
        isinstance(limit.expression, exp.Literal) and limit.expression.this not in ("0", "")
    )
    return none or node.args.get("offset") is not None


def items(node: exp.Expr) -> list[exp.Expr]:
    """The select list."""
    assert isinstance(node, exp.Query)
    return node.selects


def has_aggregates(select: exp.Expr) -> bool:
    """Return whether a SELECT's own clauses have aggregates (or HAVING, which makes one group)."""
    if select.args.get("having") is not None:
        return True
    order = select.args.get("order") if is_limited(select) else None
    clauses = [*items(select), *([] if order is None else [order])]
    return any(aggregates_in(clause) for clause in clauses)


def has_windows(select: exp.Expr) -> bool:
    """Return whether a SELECT's own clauses have window functions."""
    clauses = [*items(select), *(select.args.get(c) for c in ("order", "qualify"))]
    return any(isinstance(p, exp.Window) for c in clauses if c is not None for p in parts(c))


def is_total(node: exp.Expr) -> bool:
    """Return whether a block aggregates without GROUP BY: one row, even if there are none."""
    return isinstance(node, exp.Select) and node.args.get("group") is None and has_aggregates(node)


def gathers(node: exp.Expr) -> bool:
    """Return whether a row of a query's own block depends on several rows of its FROM clause."""
    if isinstance(node, exp.SetOperation):
        return is_limited(node)
    return is_limited(node) or has_aggregates(node) or has_windows(node)


def gathers_at_depth(node: exp.Expr, ctes: Ctes) -> bool:
    """Return whether a query, or one in FROM at any depth, depends on several rows.

    Queries in conditions do not count.
    """
    node, ctes = opened_in(node, ctes)
    if gathers(node):
        return True
    if isinstance(node, exp.SetOperation):
        return any(gathers_at_depth(side, ctes) for side in (node.this, node.expression))
    for relation in relations_of(node) if isinstance(node, exp.Select) else ():
        if not isinstance(relation, exp.Table):
            if gathers_at_depth(relation, ctes):
                return True
        elif not relation_of(relation, ctes) and gathers_at_depth(*ctes[relation.name.lower()]):
            return True
    return False


def by_value(arm: exp.Expr, ctes: Ctes) -> bool:
    """Return whether the rows of an arm count by value.

    DISTINCT, GROUP BY, UNION, INTERSECT, EXCEPT; aggregates, windows and LIMIT, also in a table of
    its FROM clause, at any depth.
    """
    if isinstance(arm, exp.SetOperation):
        return True
    if arm.args.get("distinct") or arm.args.get("group") is not None:
        return True
    return gathers_at_depth(arm, ctes)


def shows_subquery(arm: exp.Expr, ctes: Ctes) -> bool:
    """Return whether an answer that counts by derivation may change its value.

    So it is where a scalar subquery stands in its select list, or in that of a table of its FROM.
    """
    return not by_value(arm, ctes) and _has_subquery_items(arm, ctes)


def _has_subquery_items(node: exp.Expr, ctes: Ctes) -> bool:
    node, ctes = opened_in(node, ctes)
    if isinstance(node, exp.SetOperation):
        return any(_has_subquery_items(side, ctes) for side in (node.this, node.expression))
    if not isinstance(node, exp.Select):
        return False
    if any(item.find(exp.Query) is not None for item in items(node)):
        return True
    for relation in relations_of(node):
        if not isinstance(relation, exp.Table):
            if _has_subquery_items(relation, ctes):
                return True
        elif not relation_of(relation, ctes) and _has_subquery_items(*ctes[relation.name.lower()]):
            return True
    return False


def relation_of(table: exp.Table, ctes: Ctes) -> str:
    """The normalized name of a source; '' for a CTE's."""
    name = table_name(table)
    return "" if name in ctes else name


def conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions on a SELECT's rows: WHERE, HAVING and ON, in parentheses, too."""
    for clause in ("where", "having"):
        if select.args.get(clause) is not None:
            yield select.args[clause].this
    for join in select.find_all(exp.Join):
        if join.args.get("on") is not None and join.find_ancestor(exp.Select) is select:
            yield join.args["on"]


def from_items(select: exp.Select) -> list[exp.Expr]:
    """The first relation of a FROM clause, and the joins behind it."""
    from_ = select.args.get("from_")
    return [] if from_ is None else [from_.this, *(select.args.get("joins") or [])]


def is_plain(node: exp.Select, relations: list[exp.Expr], ctes: Ctes) -> bool:
    """Return whether a SELECT only joins tables, without subqueries, outer joins or grouping."""
    if node.args.get("group") is not None or node.args.get("distinct") or gathers(node):
        return False
    conditions = [r.args.get("on") for r in relations] + [node.args.get("where")]
    if any(c is not None and c.find(exp.Query) is not None for c in conditions):
        return False
    if any(isinstance(r, exp.Join) and r.side for r in relations):
        return False
    tables = [r.this if isinstance(r, exp.Join) else r for r in relations]
    return bool(tables) and all(
        isinstance(t, exp.Table) and relation_of(t, ctes) and not t.args.get("joins")
        for t in tables
    )


def is_correlated(node: exp.Expr) -> bool:
    """Return whether a resolved query uses columns of a query around it."""
    inside = {found.alias_or_name for found in node.find_all(exp.Table, exp.Subquery)}
    return any(column.table not in inside for column in node.find_all(exp.Column) if column.table)
