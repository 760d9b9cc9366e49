"""Refuse a select list whose columns Spark would name in a way that is not certain here."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.query_state import QueryState
from tapestry.sql.read.spark_names import as_written, has_own_name, relation_names_of
from tapestry.sql.read.spelling import spellings


def refuse_unnamed(query: QueryState) -> QueryState:
    """The query itself; Refusal for a column whose name is Spark's and not known here.

    A column, a field of a struct, a literal, and a cast of a column have names of their own, which
    are Spark's too; operators and plain aggregates have got Spark's (``name_items``).

    >>> from sqlglot import parse_one
    >>> from tapestry.sql.catalog import Catalog
    >>> sql = "select a, t.b, cast(c as int), f(d) from t"
    >>> tree = parse_one(sql, dialect="spark")
    >>> refuse_unnamed(QueryState(sql, tree, Catalog({}), ("a", "b", "c", "_col_3"), ("t",), ()))
    Traceback (most recent call last):
    tapestry.errors.Refusal: a column of the select list has no name [unnamed-column]
      in: F(d)
      do: give it one: F(d) AS name
    """
    first: exp.Expr = query.written
    while not isinstance(first, exp.Select):
        first = first.this
    relations = relation_names_of(first)
    for item in first.selects:
        if not has_own_name(item, relations):
            text = as_written(item)
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
