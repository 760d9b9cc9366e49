"""Gives grouping sets over no rows the result of Spark in engines that have another one.

``ROLLUP (k)`` of nothing is nothing in Spark; DuckDB gives the row of the empty set ``()``.
A group of rows has at least one, so that ``count(*) > 0`` leaves out this row and no other.
"""

from __future__ import annotations

from sqlglot import exp

GROUPING_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def groups_of_nothing(tree: exp.Query) -> exp.Query:
    """The query with ``HAVING COUNT(*) > 0`` beside every grouping set; a copy."""
    tree = tree.copy()
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is None or group.find(*GROUPING_SETS) is None:
            continue
        rows = exp.Count(this=exp.Star(), big_int=True)
        some: exp.Expr = exp.GT(this=rows, expression=exp.Literal.number(0))
        having = select.args.get("having")
        if having is not None:
            some = exp.And(this=exp.Paren(this=having.this), expression=some)
        select.set("having", exp.Having(this=some))
    return tree
