"""Lifts a global aggregate over cases: it has a row for each of them, even without rows."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tapestry.sql.facts.grouping import is_aggregate
from tapestry.sql.lift.cases import AT, Lifts
from tapestry.sql.write import build

MARKER = "_there"
Given = Callable[[exp.Expr], exp.Expr]
"""The column of the rows that a value is computed as."""


def over_all_cases(lift: Lifts, query: exp.Select, case: exp.Expr) -> exp.Select:
    """The block, its aggregates taken over the cases LEFT JOIN its rows.

    What an aggregate reads is computed with the rows: where there is none it is NULL, which every
    aggregate but count(*) leaves out; that one counts a marker. Grouped by the case alone the
    row of a case without rows would be lost.
    """
    inner, alias, outer = exp.Select(), lift.name("g"), lift.name("i")
    for clause in ("from_", "joins", "laterals", "where"):
        if query.args.get(clause):
            inner.set(clause, query.args[clause])
    inner.append("expressions", exp.alias_(case.copy(), AT))
    inner.append("expressions", exp.alias_(exp.Literal.number(1), MARKER))
    computed: dict[exp.Expr, str] = {}

    def given(value: exp.Expr) -> exp.Expr:
        if value not in computed:
            computed[value] = f"_a{len(computed) + 1}"
            inner.append("expressions", exp.alias_(value.copy(), computed[value]))
        return exp.column(computed[value], table=alias)

    having = query.args.get("having")
    at = exp.column(AT, table=outer)
    selects = [_over(item, given, alias, case, at) for item in query.selects]
    result = build.select(selects)
    build.add_from(result, lift.every(outer))
    on = exp.EQ(this=exp.column(AT, table=alias), expression=at.copy())
    rows = build.subquery(inner, alias)
    result.append("joins", exp.Join(this=rows, side="LEFT", on=on))
    result.set("group", exp.Group(expressions=[at.copy()]))
    if having is not None:
        result.set("having", exp.Having(this=_over(having.this, given, alias, case, at)))
    if query.args.get("distinct"):
        result.set("distinct", query.args["distinct"])
    result.append("expressions", exp.alias_(at.copy(), AT))
    return result


def _over(
    node: exp.Expr,
    given: Given,
    alias: str,
    case: exp.Expr,
    at: exp.Expr,
) -> exp.Expr:
    """A value over the joined rows: what its aggregates read replaced, and the case."""
    copy = node.copy()
    for one in list(copy.find_all(exp.Filter)):  # FILTER (WHERE …), of rows that are there
        one.set("expression", exp.Where(this=given(one.expression.this)))
    for part in list(copy.walk(prune=lambda one: is_aggregate(one) or one == case)):
        if part == case:
            new: exp.Expr = at.copy()
        elif is_aggregate(part):
            new = _reads(part, given, alias)
        else:
            continue
        if part is copy:
            return new
        part.replace(new)
    return copy


def _reads(aggregate: exp.Expr, given: Given, alias: str) -> exp.Expr:
    copy = aggregate.copy()
    if isinstance(copy, exp.Count) and isinstance(copy.this, exp.Star):
        copy.set("this", exp.column(MARKER, table=alias))
        return copy
    for name in ("this", "expression", "expressions"):
        value = copy.args.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, exp.Order):  # WITHIN GROUP (ORDER BY …)
                for ordered in one.find_all(exp.Column):
                    ordered.replace(given(ordered))
            elif isinstance(one, exp.Distinct):
                for inner in list(one.expressions):
                    inner.replace(given(inner))
            elif isinstance(one, exp.Expr) and (name == "this" or not isinstance(one, exp.Literal)):
                one.replace(given(one))
    return copy
