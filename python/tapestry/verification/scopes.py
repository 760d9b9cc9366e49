"""Small facts about a resolved query's tree: CTEs in sight, arms, what counts by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from tapestry.sql.read.parse import table_name

Ctes = Mapping[str, tuple[exp.Expr, "Ctes"]]
"""Name -> body of a CTE, with the CTEs that its own text may use."""


def opened(node: exp.Expr, ctes: Ctes) -> tuple[exp.Expr, Ctes]:
    """A query out of its parentheses, and the CTEs that it sees."""
    while True:
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else []:
            name = cte.alias.lower()
            if name not in ctes or ctes[name][0] is not cte.this:  # else opened before
                ctes = {**ctes, name: (cte.this, ctes)}
        if not isinstance(node, exp.Subquery):
            return node, ctes
        node = node.this


def arms(node: exp.Expr, ctes: Ctes) -> Iterator[tuple[exp.Expr, Ctes]]:
    """The arms of nested UNION ALLs from left to right; a query itself where there is none."""
    node, ctes = opened(node, ctes)
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        yield from arms(node.this, ctes)
        yield from arms(node.expression, ctes)
    else:
        yield node, ctes


def by_value(arm: exp.Expr) -> bool:
    """Do the rows of an arm count by value (DISTINCT, GROUP BY, UNION, INTERSECT, EXCEPT)?"""
    if isinstance(arm, exp.SetOperation):
        return True
    return bool(arm.args.get("distinct")) or arm.args.get("group") is not None


def relation_of(table: exp.Table, ctes: Ctes) -> str:
    """The normalized name of a source; '' for a CTE's."""
    name = table_name(table)
    return "" if name in ctes else name


def conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """What a SELECT demands of its rows: WHERE, HAVING, and ON, also of joins in parentheses."""
    for clause in ("where", "having"):
        if select.args.get(clause) is not None:
            yield select.args[clause].this
    for join in select.find_all(exp.Join):
        if join.args.get("on") is not None and join.find_ancestor(exp.Select) is select:
            yield join.args["on"]


def is_global_aggregate(node: exp.Expr) -> bool:
    """One row whatever there is: aggregates of its own, without GROUP BY."""
    if not isinstance(node, exp.Select) or node.args.get("group") or node.args.get("having"):
        return False
    return any(
        isinstance(part, exp.AggFunc)
        for item in node.selects
        for part in item.walk(prune=lambda inner: isinstance(inner, exp.Query))
    )


def from_items(select: exp.Select) -> list[exp.Expr]:
    """The first relation of a FROM clause, and the joins behind it."""
    from_ = select.args.get("from_")
    return [] if from_ is None else [from_.this, *(select.args.get("joins") or [])]


def is_plain(node: exp.Select, relations: list[exp.Expr], ctes: Ctes) -> bool:
    """A SELECT that reads tables and joins them, without subqueries, outer joins and grouping?"""
    if node.args.get("group") is not None or node.args.get("distinct"):
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
    """Does a resolved query use columns of a query around it?"""
    inside = {found.alias_or_name for found in node.find_all(exp.Table, exp.Subquery)}
    return any(column.table not in inside for column in node.find_all(exp.Column) if column.table)
