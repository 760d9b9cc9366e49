"""Make orders total where Q(s) depends on which of two equal rows comes first (semantics, 2).

    SELECT a, b … ORDER BY v LIMIT 3     ORDER BY v, a, b
    row_number() OVER (ORDER BY v)       OVER (ORDER BY v, and every column of the FROM clause)

The columns of FROM: relation by relation as they are written, each with its columns in their order;
of a block with GROUP BY it is what is grouped by. They are appended ascending, NULLs first, as
Spark orders them; a MAP or VARIANT, or what holds one, has no order and is left out. Rows that are
equal in all of them are interchangeable. Aggregates that take any of several values are made one
value, too (``one_value``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from sqlglot import exp

from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.copies import copied
from tapestry.sql.facts.from_clause import leaf_selects, relations_of
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.read.inline_inner_ctes import cte_of
from tapestry.sql.read.one_value import ANY, one_value
from tapestry.sql.read.open_clauses import parts

BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)
FIRST = (exp.First, exp.FirstValue)
"""Functions that ignore the end of the frame, so that a longer order may make peers fewer."""


def has_orders(tree: exp.Expr) -> bool:
    """Return whether a value in the query may depend on the order of rows."""
    return tree.find(exp.Limit, exp.Offset, exp.Window, *ANY) is not None


def total_orders(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query, its names resolved, with total orders; a copy."""
    tree = copied(tree)
    one_value(tree)
    for node in list(tree.find_all(exp.Select, exp.SetOperation)):
        if isinstance(node, exp.Select):
            _order_windows(node, catalog)
        if node.args.get("limit") is not None or node.args.get("offset") is not None:
            _append(node, list(_outputs(node)))
    return tree


def _outputs(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the values by which rows of a query are ordered to be told apart.

    Constants are left out: they tell nothing apart, and could be read as a place.
    """
    if isinstance(node, exp.SetOperation):
        yield from (exp.column(identifier(name)) for name in _ordered_columns(node))
    elif isinstance(node, exp.Select):
        items = [item.unalias() for item in node.selects if not has_map(item)]
        yield from (copied(item) for item in items if not isinstance(item, exp.Literal | exp.Null))


def _ordered_columns(query: exp.Expr, names: Sequence[str] = ()) -> list[str]:
    """Return the columns of a query whose values have an order; ``names``: their names."""
    lists = [arm.selects for arm in leaf_selects(query)]
    ordered = [not any(has_map(item) for item in items) for items in zip(*lists, strict=True)]
    return list(compress(names or [item.alias_or_name for item in lists[0]], ordered))


def _append(node: exp.Expr, keys: list[exp.Expr]) -> None:
    if not keys:
        return
    if node.args.get("order") is None:
        node.set("order", exp.Order(expressions=[]))
    ordered = [exp.Ordered(this=key, nulls_first=True) for key in keys]
    node.args["order"].set("expressions", [*node.args["order"].expressions, *ordered])


def _order_windows(select: exp.Select, catalog: Catalog) -> None:
    for clause in (*select.selects, select.args.get("order"), select.args.get("qualify")):
        for window in list(parts(clause)) if clause is not None else []:
            if isinstance(window, exp.Window) and by_place(window):
                _append(window, list(_tellers(select, catalog)))


def by_place(window: exp.Window) -> bool:
    """Return whether a window's value depends on the order of rows that its ORDER BY leaves
    equal.
    """
    function: exp.Expr = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    spec = window.args.get("spec")
    if isinstance(function, BY_PLACE):
        return True
    if spec is not None:
        return str(spec.args.get("kind") or "").upper() == "ROWS"
    return isinstance(function, FIRST)


def _tellers(select: exp.Select, catalog: Catalog) -> Iterator[exp.Expr]:
    group = select.args.get("group")
    if group is not None:
        for item in group.expressions:
            sets = isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets)
            yield from (copied(one) for one in (item.find_all(exp.Column) if sets else [item]))
        return
    for relation in relations_of(select):
        alias = relation.alias_or_name
        for name in columns_of(relation, catalog):
            yield exp.column(identifier(name), table=exp.to_identifier(alias))
    for lateral in select.args.get("laterals") or []:
        if not has_map(lateral.this.this):
            for column in lateral.args["alias"].columns:
                yield exp.column(copied(column), table=exp.to_identifier(lateral.alias))


def has_map(node: exp.Expr) -> bool:
    """Return whether a value, or a part of it, has a type whose values have no order."""
    return isinstance(node.type, exp.DataType) and _is_unordered(node.type)


def _is_unordered(kind: exp.DataType) -> bool:
    return any(one.is_type("map", "variant") for one in kind.find_all(exp.DataType))


def columns_of(relation: exp.Expr, catalog: Catalog) -> list[str]:
    """The names of a relation's columns whose values have an order, as they stand there."""
    alias = relation.args.get("alias")
    named = [column.name for column in alias.columns] if alias is not None else []
    if not isinstance(relation, exp.Table):
        assert isinstance(relation, exp.Subquery)
        return _ordered_columns(relation.unnest(), named)
    cte = cte_of(relation)
    if cte is not None:
        return _ordered_columns(cte.this, named or [c.name for c in cte.args["alias"].columns])
    source = catalog.relations[".".join(part.name for part in relation.parts).lower()]
    assert isinstance(source, Source)
    names = named or [column.name.lower() for column in source.columns]
    return [
        name
        for name, column in zip(names, source.columns, strict=True)
        if not _is_unordered(column.data_type)
    ]
