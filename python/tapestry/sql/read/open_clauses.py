"""Put what names and numbers in GROUP BY, HAVING, ORDER BY and OVER stand for in their place.

    GROUP BY 1, GROUP BY ALL        the items of the select list (ALL: those without an aggregate)
    HAVING c > 2                    HAVING COUNT(*) > 2
    ORDER BY c, 2, ALL … LIMIT 3    the items; an order without LIMIT means nothing and stays
    OVER w … WINDOW w AS (…)        OVER (…)

Sound because each is by definition an abbreviation: an item of the select list has one value in a
row, and what is not the same twice is refused. The order of a set operation is over its columns,
which have names only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from tapestry.errors import Refusal

GROUPING = (exp.Grouping, exp.GroupingId)
"""They are values of a group, though none is an aggregate."""


def open_clauses(tree: exp.Query) -> exp.Query:
    """The qualified query with every column of these clauses ``alias.column``, changed in place.

    Raises Refusal for a window that is not defined.
    """
    for select in tree.find_all(exp.Select):
        _group_by(select)
        for clause in ("having", "qualify"):
            if select.args.get(clause) is not None:
                _expand_names(select.args[clause], select)
        limit = select.args.get("limit")
        if limit is not None and limit.expression.sql().upper() == "ALL":
            select.set("limit", None)
        if select.args.get("limit") is not None or select.args.get("offset") is not None:
            _order_by(select)
        _windows(select)
    return tree


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is an aggregate of the block, not a window function.

    >>> from sqlglot import parse_one
    >>> [is_aggregate(parse_one(text, dialect="spark").find(exp.AggFunc)) for text in
    ...     ("sum(v)", "sum(v) filter (where v > 1)", "sum(v) over (partition by k)")]
    [True, True, False]
    """
    if not isinstance(node, (exp.AggFunc, *GROUPING)):
        return False
    around = node.parent
    while isinstance(around, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        around = around.parent
    return not (isinstance(around, exp.Window) and around.this.find(type(node)) is not None)


def parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield an expression and all nodes in it, except those in subqueries."""
    return node.walk(prune=lambda one: isinstance(one, exp.Query))


def aggregates_in(node: exp.Expr) -> bool:
    """Return whether an expression has an aggregate of the block."""
    return any(is_aggregate(part) for part in parts(node))


def _group_by(select: exp.Select) -> None:
    group = select.args.get("group")
    if group is None:
        return
    if group.args.get("all"):
        items = [item.unalias() for item in select.selects if not aggregates_in(item)]
        group.set("all", None)
        group.set("expressions", [_constant(item.copy()) for item in items])
        if not items:
            select.set("group", None)
        return
    for written in list(group.find_all(exp.Literal)):
        listed = written.parent is group or isinstance(
            written.parent, exp.Tuple | exp.Rollup | exp.Cube | exp.GroupingSets
        )
        if listed and written.is_int and 1 <= int(written.this) <= len(select.selects):
            item = select.selects[int(written.this) - 1]
            written.replace(_constant(item.unalias().copy()))
    _sets(select, group)


def _sets(select: exp.Select, group: exp.Expr) -> None:
    """Replace ``k, v WITH ROLLUP`` by ``ROLLUP (k, v)``, and ``k, v GROUPING SETS (…)`` by the
    sets.
    """
    columns = [*group.expressions]
    for place, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.get(place):
            group.set(place, None)
            group.set("expressions", [kind(expressions=[one.copy() for one in columns])])
    if sets := group.args.get("grouping_sets"):
        group.set("grouping_sets", None)
        group.set("expressions", sets)
    listed = [
        one
        for item in columns
        for one in (
            item.find_all(exp.Column)
            if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets)
            else [item]
        )
    ]
    for call in [*select.find_all(exp.GroupingId)]:
        if call.parent_select is select:
            call.replace(_bits(call.expressions or list(dict.fromkeys(listed))))


def _bits(columns: list[exp.Expr]) -> exp.Expr:
    """``grouping_id(a, b)``: ``grouping(a) * 2 + grouping(b)``.

    Spark takes it for exactly what is grouped by; over instants a query is grouped by more.
    """
    value: exp.Expr | None = None
    for column in columns:
        bit = exp.cast(exp.Grouping(expressions=[column.copy()]), "bigint")
        twice = exp.Mul(this=value, expression=exp.Literal.number(2)) if value is not None else None
        value = bit if twice is None else exp.Add(this=twice, expression=bit)
    return exp.Paren(this=value)


def _constant(item: exp.Expr) -> exp.Expr:
    """An item to group by; a number by itself would be read as a place in the select list."""
    if not isinstance(item, exp.Literal):
        return item
    return exp.cast(item, "string" if item.is_string else "int" if item.is_int else "double")


def _expand_names(clause: exp.Expr, select: exp.Select) -> None:
    """Put items of the select list in the place of their names; other columns have a table."""
    items = {item.alias_or_name.lower(): item.unalias() for item in select.selects}
    for column in list(clause.find_all(exp.Column)):
        if not column.table and column.name.lower() in items:
            item = _constant(items[column.name.lower()].copy())
            wraps = isinstance(item, exp.Binary | exp.Unary) and not isinstance(
                column.parent, exp.Ordered | exp.Func | exp.Paren
            )
            column.replace(exp.Paren(this=item) if wraps else item)


def _order_by(select: exp.Select) -> None:
    order = select.args.get("order")
    if order is None:
        return
    ordered: list[exp.Expr] = []
    for one in order.expressions:
        key = one.this if isinstance(one, exp.Ordered) else one
        bare = isinstance(key, exp.Column | exp.Var | exp.Identifier | exp.All)
        if bare and not key.text("table") and (key.name or key.sql()).upper() == "ALL":
            for item in select.selects:
                copied = one.copy()
                copied.set("this", item.unalias().copy())
                ordered.append(copied)
        else:
            ordered.append(one)
    order.set("expressions", ordered)
    _expand_names(order, select)


def _windows(select: exp.Select) -> None:
    """Write out named windows where they are used."""
    named = {one.name.lower(): one for one in select.args.get("windows") or []}
    for clause in (*select.selects, select.args.get("order"), select.args.get("qualify")):
        for window in list(parts(clause)) if clause is not None else []:
            if isinstance(window, exp.Window):
                _write_out(window, named, len(named))
    select.set("windows", None)


def _write_out(window: exp.Expr, named: Mapping[str, exp.Expr], steps: int) -> None:
    """Add the clauses of the named window to which a window refers, through several references."""
    name = window.args.get("alias")
    if name is None:
        return
    if name.name.lower() not in named or not steps:
        raise Refusal(
            f"no window is called {name.name}",
            window.sql("spark"),
            "define it with WINDOW, or write OVER (...)",
            code="unknown-column",
        )
    definition = named[name.name.lower()].copy()
    _write_out(definition, named, steps - 1)
    for part in ("partition_by", "order", "spec"):
        if definition.args.get(part) and not window.args.get(part):
            window.set(part, definition.args[part])
    window.set("alias", None)
