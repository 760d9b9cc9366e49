"""Lifts LIMIT and window functions to each case; their orders are total (``read.total_orders``)."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.lift.cases import AT, RANK, Lifts
from tapestry.sql.write import build


def first_rows(lift: Lifts, node: exp.Query) -> exp.Select:
    """Return the rows of a LIMIT in every case, by their rank."""
    bare = node.copy()
    offset, limit = (_number(bare.args.get(one), node) for one in ("offset", "limit"))
    order = bare.args.get("order")
    for clause in ("order", "limit", "offset"):
        bare.set(clause, None)
    names = node.named_selects
    alias, ranked = lift.name("q"), lift.name("q")
    ordered: list[exp.Expr] = []
    listed_items = bare.selects if isinstance(bare, exp.Select) else []
    items = {item.unalias(): item.alias_or_name for item in listed_items}
    for number, one in enumerate(order.expressions if order is not None else [], start=1):
        bare_name = one.this.name if isinstance(one.this, exp.Column) and not one.this.table else ""
        name = bare_name if bare_name in names else items.get(one.this, "")
        if not name:
            name = f"_o{number}"
            assert isinstance(bare, exp.Select)
            shown = exp.Alias(this=one.this.copy(), alias=exp.to_identifier(name))
            bare.append("expressions", shown)  # alias_() would name a subquery as a table
        ordered.append(_ordered(one, build.column(name, alias)))
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column(AT, table=alias)],
        order=exp.Order(expressions=ordered),
    )
    inner = build.select_all(alias)
    inner.append("expressions", exp.alias_(rank, RANK))
    build.add_from(inner, build.subquery(lift.rows(bare), alias))
    listed = [build.column(name, ranked) for name in [*names, AT]]
    query = build.add_from(build.select(listed), build.subquery(inner, ranked))
    position = exp.column(RANK, table=ranked)
    conditions: list[exp.Expr] = []
    if offset:
        low = exp.Literal.number(offset)
        conditions.append(exp.GT(this=position.copy(), expression=low))
    if limit is not None:
        high = exp.Literal.number((offset or 0) + limit)
        conditions.append(exp.LTE(this=position.copy(), expression=high))
    return build.add_where(query, conditions)


def window_at(query: exp.Select, case: exp.Expr) -> None:
    """Partition each window function of a block by the case, in place."""
    for window in list(query.find_all(exp.Window)):
        if window.find_ancestor(exp.Select) is query:
            window.append("partition_by", case.copy())


def _ordered(written: exp.Expr, by: exp.Expr) -> exp.Ordered:
    descending = bool(written.args.get("desc"))
    first = written.args.get("nulls_first")
    return exp.Ordered(
        this=by.copy(), desc=descending, nulls_first=(not descending) if first is None else first
    )


def _number(clause: exp.Expr | None, node: exp.Expr) -> int | None:
    if clause is None:
        return None
    count = clause.args.get("expression")
    if count is None or not count.is_int:
        raise Refusal(
            "LIMIT or OFFSET of what is no number",
            node.sql("spark"),
            "write the number",
            code="limit",
        )
    return int(count.name)
