"""Refuse subqueries without a value of their own: several for one, or columns out of reach."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.read.open_clauses import aggregates_in

_MODIFIED = ("limit", "offset")


def refuse_subqueries(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query itself; Refusal for a scalar subquery that may give several rows or columns.

    And for columns of a query around that a subquery cannot reach.
    """
    for select in tree.find_all(exp.Select):
        for column in _own_columns(select):
            _refuse_out_of_reach(column, select)
    for subquery in tree.find_all(exp.Subquery):
        if is_value(subquery):
            _refuse_several(subquery)
    return tree


def is_value(query: exp.Subquery) -> bool:
    """Return whether a subquery is used as a value."""
    parent = query.parent
    if isinstance(parent, exp.In):
        return query.arg_key != "query"
    return (
        not isinstance(
            parent, exp.From | exp.Join | exp.Subquery | exp.SetOperation | exp.Exists | exp.CTE
        )
        and parent is not None
    )


def _own_columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns that stand in a block itself, not in queries in it."""
    for node in select.walk(prune=lambda one: one is not select and isinstance(one, exp.Query)):
        if isinstance(node, exp.Column) and node.table:
            yield node


def _names(select: exp.Select) -> set[str]:
    found = {relation.alias_or_name for relation in relations_of(select)}
    return found | {one.alias for one in select.args.get("laterals") or []}


def _refuse_out_of_reach(column: exp.Column, select: exp.Select) -> None:
    """Raise Refusal for a column of a query that is not the one around."""
    for around, level in _around(select):
        if column.table not in _names(around):
            continue
        if level > 1:
            raise Refusal(
                "a subquery refers to a table two levels up, which Spark does not support",
                column.sql("spark"),
                "compare through the level between, or join there; a semi or anti join inside a"
                " subquery is a level, too",
                code="correlated",
            )
        if level:
            _refuse_modified(select)
        return


def _around(select: exp.Select) -> Iterator[tuple[exp.Select, int]]:
    """A block and those around it, each with how many subqueries of expressions are between."""
    yield select, 0
    level = 0
    node: exp.Expr = select
    while node.parent is not None:
        in_from = isinstance(node.parent, exp.From | exp.Join) and node.arg_key == "this"
        joined = isinstance(node.parent, exp.SetOperation | exp.Subquery | exp.CTE | exp.With)
        level += isinstance(node, exp.Query) and not in_from and not joined
        node = node.parent
        if isinstance(node, exp.Select):
            yield node, level


def _refuse_modified(select: exp.Select) -> None:
    """Raise Refusal for LIMIT in a subquery that uses columns of the query around it."""
    query: exp.Expr = select
    while isinstance(query.parent, exp.SetOperation | exp.Subquery) and not _limits(query):
        query = query.parent
    limit = query.args.get("limit")
    if not _limits(query) or (isinstance(query.parent, exp.Exists) and _some(limit)):
        return
    if isinstance(query, exp.Select) and limit is not None and not query.args.get("offset"):
        return
    raise Refusal(
        "OFFSET, or the LIMIT of a set operation, in a subquery that uses columns of the query"
        " around it",
        query.sql("spark"),
        "write max(…) or min(…), or rank the rows with row_number() in a derived table that is"
        " joined",
        code="correlated",
    )


def _limits(query: exp.Expr) -> bool:
    return any(query.args.get(clause) is not None for clause in _MODIFIED)


def _some(limit: exp.Expr | None) -> bool:
    count = None if limit is None else limit.args.get("expression")
    return count is not None and count.is_int and int(count.name) > 0


def _refuse_several(subquery: exp.Subquery) -> None:
    query: exp.Expr = subquery
    limited = False
    while isinstance(query, exp.Subquery):
        limited = limited or _is_one(query.args.get("limit"))
        query = query.this
    assert isinstance(query, exp.Query)
    names = len(query.selects)
    if names != 1:
        raise Refusal(
            f"a subquery of {names} columns stands where one value does",
            subquery.sql("spark"),
            "select one column, or struct(a, b)",
            code="scalar-subquery",
        )
    if limited or _is_one(query.args.get("limit")) or _gives_one(query):
        return
    item = query.selects[0].unalias()
    one = "" if aggregates_in(item) else f"max({item.sql('spark')}), "
    raise Refusal(
        "a subquery that may give several rows stands where one value does",
        subquery.sql("spark"),
        f"write {one}ORDER BY … LIMIT 1 where it uses no column of the query around, or join it",
        code="scalar-subquery",
    )


def _is_one(limit: exp.Expr | None) -> bool:
    count = None if limit is None else limit.args.get("expression")
    return count is not None and count.is_int and int(count.name) <= 1


def _gives_one(query: exp.Expr) -> bool:
    """Return whether a query always has at most one row: a global aggregate, or no FROM."""
    if not isinstance(query, exp.Select):
        return False
    if query.args.get("from_") is None:
        return True
    group = query.args.get("group")
    if group is None:
        return query.args.get("having") is not None or any(map(aggregates_in, query.selects))
    fixed = list(_fixed(query))
    return bool(group.expressions) and all(one in fixed for one in group.expressions)


def _fixed(query: exp.Select) -> Iterator[exp.Expr]:
    """Yield the expressions that WHERE equates with a value without columns of the block."""
    where = query.args.get("where")
    own = _names(query)
    if where is None:
        return
    written = where.this
    for part in written.flatten() if isinstance(written, exp.And) else [written.unnest()]:
        if not isinstance(part, exp.EQ):
            continue
        for one, other in ((part.this, part.expression), (part.expression, part.this)):
            columns = list(other.find_all(exp.Column))
            if not other.find(exp.Query) and all(c.table not in own for c in columns):
                yield one
