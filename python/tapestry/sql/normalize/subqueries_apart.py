"""Subqueries of a lifted arm where Spark takes them once they belong to the instant of a row.

A subquery by itself may stand anywhere in Spark's SQL; one that uses a column of the query around,
as each does over instants, not beside aggregates and not in ON.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.grouping import aggregates
from tapestry.sql.facts.values import Names
from tapestry.sql.normalize.needs_instants import is_scalar
from tapestry.sql.read.open_clauses import is_aggregate
from tapestry.sql.read.outer_block import OuterBlock
from tapestry.sql.write import build


def subqueries_apart(select: exp.Select, names: Names) -> exp.Select:
    """The block with its subqueries outside of GROUP BY and ON; changed in place where it is one.

    Sound: a value of the select list is computed from those of its group, one a row; and a
    condition of an inner join is one of WHERE, unless a join after it keeps rows without a match.
    """
    _out_of_joins(select)
    grouped = select.args.get("group") is not None or aggregates(select)
    shown = [*select.selects, *(select.args["order"].expressions if "order" in select.args else ())]
    if not grouped or not any(_scalars(item) for item in shown):
        return select
    return OuterBlock(select, names.new("q"), subqueries=False).block()


def _scalars(item: exp.Expr) -> list[exp.Expr]:
    """The scalar subqueries of an expression, outside of aggregates."""
    parts = item.walk(prune=lambda one: isinstance(one, exp.Query) or is_aggregate(one))
    return [part for part in parts if isinstance(part, exp.Subquery) and is_scalar(part)]


def _out_of_joins(select: exp.Select) -> None:
    parts = select.walk(prune=lambda one: one is not select and isinstance(one, exp.Query))
    joins = [part for part in parts if isinstance(part, exp.Join)]
    outer = any(join.side for join in joins)
    for join in joins:
        on = join.args.get("on")
        if on is None or not _scalars(on):
            continue
        if outer or join.parent is not select:
            raise Refusal(
                "a subquery stands for a value in ON, beside an outer join",
                on.sql("spark"),
                "join it as a derived table: JOIN (SELECT max(x) AS x FROM …) AS q",
                code="scalar-subquery",
            )
        conditions = list(on.flatten()) if isinstance(on, exp.And) else [on]
        kept = [one for one in conditions if not _scalars(one)]
        join.set("on", build.conjunction([build.operand(one.copy()) for one in kept]))
        if not kept:
            join.set("kind", "CROSS")
        where = select.args.get("where")
        moved = [build.operand(one.copy()) for one in conditions if _scalars(one)]
        build.add_where(
            select, [*([build.operand(where.this)] if where is not None else []), *moved]
        )
