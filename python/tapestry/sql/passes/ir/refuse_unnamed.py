"""Refuse a select list that leaves it to the engine to make up a column's name."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.query_state import QueryState
from tapestry.sql.read.generators import kind_of
from tapestry.sql.read.spelling import spellings


def refuse_unnamed(query: QueryState) -> QueryState:
    """The query itself; Refusal where it is left to the engine to make up a column's name.

    A column, a field of a struct, a literal, and a cast of a column have names of their own, which
    are Spark's too.

    >>> from sqlglot import parse_one
    >>> from tapestry.sql.catalog import Catalog
    >>> sql = "select a, t.b, cast(c as int), d + 1 from t"
    >>> tree = parse_one(sql, dialect="spark")
    >>> refuse_unnamed(QueryState(sql, tree, Catalog({}), ("a", "b", "c", "_col_3"), ("t",), ()))
    Traceback (most recent call last):
    tapestry.errors.Refusal: a column of the select list has no name [unnamed-column]
      in: d + 1
      do: give it one: d + 1 AS name
    """
    for item in query.written.selects:
        if not _has_name(item):
            text = item.sql("spark")
            raise Refusal(
                "a column of the select list has no name",
                text,
                f"give it one: {text} AS name",
                code="unnamed-column",
            )
    known = {identifier.name.lower() for identifier in query.written.find_all(exp.Identifier)}
    known |= set(spellings(query.catalog))
    for name in query.columns:  # what a star takes from a derived table, or from a view
        if name.startswith("_col_") and name not in known:
            raise Refusal(
                "a column that a star takes from a subquery has no name",
                "*",
                "give every column of that subquery a name with AS",
                code="unnamed-column",
            )
    return query


def _has_name(item: exp.Expr) -> bool:
    if isinstance(item, exp.Alias | exp.Aliases) or kind_of(item):
        return True
    value = item.unnest()
    inner = value.this if isinstance(value, exp.Cast) else value
    if isinstance(inner, exp.Column | exp.Star):
        return True
    if isinstance(value, exp.Dot):  # a field of a struct, or shop.score(x)
        return not isinstance(value.expression, exp.Func)
    return isinstance(value, exp.Literal)
