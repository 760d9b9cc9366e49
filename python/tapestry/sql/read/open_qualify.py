"""Replaces QUALIFY by a WHERE over a derived table that has the window functions.

    SELECT k, v + 1 AS x FROM m QUALIFY rank() OVER (ORDER BY v) <= 3
    SELECT q._q1 AS k, q._q2 + 1 AS x
    FROM (SELECT k AS _q1, v AS _q2, rank() OVER (ORDER BY v) AS _q3 FROM m) AS q WHERE q._q3 <= 3

Spark has no QUALIFY. Sound because that is its definition: it filters after the window functions,
before DISTINCT and LIMIT.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.read.open_clauses import is_aggregate
from tapestry.sql.read.parse import parse
from tapestry.sql.write import build

ALIAS = "_qualified"


def open_qualify(tree: exp.Query) -> exp.Query:
    """The query without QUALIFY; a copy where there is one. Its names are resolved.

    >>> from sqlglot import parse_one
    >>> text = "SELECT m.k AS k FROM m QUALIFY RANK() OVER (ORDER BY m.v) = 1"
    >>> print(open_qualify(parse_one(text, dialect="spark")).sql("spark"))
    SELECT _qualified._q1 AS k FROM (SELECT m.k AS _q1, RANK() OVER (ORDER BY m.v) AS _q2 FROM m) \
AS _qualified WHERE _qualified._q2 = 1
    """
    if tree.find(exp.Qualify) is None:
        return tree
    tree = tree.copy()
    for select in reversed(list(tree.find_all(exp.Select))):
        qualify = select.args.get("qualify")
        if qualify is None:
            continue
        opened = OuterBlock(select, ALIAS, subqueries=True).block(qualify.this)
        if select is tree:
            tree = opened
        else:
            select.replace(opened)
    return tree


def without_qualify(sql: str) -> str:
    """The text with the same columns for Spark to analyse: QUALIFY leaves rows out, no column.

    A text without the clause, or one that cannot be read, stays as it is.

    >>> without_qualify("select * from m qualify rank() over (order by v) = 1 order by v")
    'SELECT * FROM m ORDER BY v'
    >>> without_qualify("select qualify  from m")
    'select qualify  from m'
    """
    if "qualify" not in sql.lower():
        return sql
    try:
        tree = parse(sql)
    except Refusal:
        return sql
    clauses = list(tree.find_all(exp.Qualify))
    for clause in clauses:
        clause.pop()
    return tree.sql("spark") if clauses else sql


# -- the outer block ------------------------------------------------------------------------------
PART = "_q"
OUTSIDE = ("distinct", "order", "limit", "offset", "with_")
"""Clauses that come after window functions."""


class OuterBlock:
    """The outer block of a SELECT: its values are over columns of the derived table ``alias``.

    ``subqueries``: are those computed inside, or kept outside, where they are of no group?
    """

    def __init__(self, select: exp.Select, alias: str, subqueries: bool) -> None:
        group = select.args.get("group")
        self.select, self.alias, self.subqueries = select, alias, subqueries
        self.keys = list(group.expressions) if group is not None else []
        self.given: dict[exp.Expr, str] = {}

    def value(self, node: exp.Expr) -> exp.Expr:
        """Return a value over the columns of the derived table, adding columns it lacks."""
        copy = node.copy()
        for part in list(copy.walk(prune=self._is_whole)):
            if not self._is_part(part):
                continue
            name = self.given.setdefault(part.copy(), f"{PART}{len(self.given) + 1}")
            column = exp.column(name, table=self.alias)
            column.type = part.type
            if part is copy:
                return column
            part.replace(column)
        return copy

    def block(self, where: exp.Expr | None = None) -> exp.Select:
        """The outer block, filtered by a condition of the inner one."""
        opened = exp.Select()
        for item in self.select.selects:
            name = identifier(item.alias_or_name)
            shown = exp.Alias(this=self.value(item.unalias()), alias=name)
            opened.append("expressions", shown)
        condition = None if where is None else self.value(where)
        inner = self.select.copy()
        for clause in OUTSIDE:
            value = inner.args.get(clause)
            if value is not None:
                opened.set(clause, self.value(value) if clause == "order" else value)
            inner.set(clause, None)
        inner.set("qualify", None)
        given = {**self.given} or {exp.Literal.number(1): PART}
        parts = [
            exp.Alias(this=part, alias=exp.to_identifier(name)) for part, name in given.items()
        ]
        inner.set("expressions", parts)
        alias = exp.TableAlias(this=exp.to_identifier(self.alias))
        opened.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
        return build.add_where(opened, [] if condition is None else [condition])

    def _is_whole(self, node: exp.Expr) -> bool:
        return self._is_part(node) or isinstance(node, exp.Query)

    def _is_part(self, node: exp.Expr) -> bool:
        """Return whether a node is computed inside: a column, a value of a group or a window."""
        if isinstance(node, exp.Column | exp.Window) or node in self.keys:
            return True
        asks = isinstance(node, exp.Subquery | exp.Exists)
        asks = asks or (isinstance(node, exp.In) and node.args.get("query") is not None)
        if asks:
            return self.subqueries
        bare: exp.Expr = node
        while isinstance(bare, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
            bare = bare.this
        return is_aggregate(bare)
