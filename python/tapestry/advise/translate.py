"""Translates a text of any dialect to Spark SQL that the rewriter reads (for ``worker``)."""

from __future__ import annotations

from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError

from tapestry.advise.qualify import qualify_as_where
from tapestry.advise.stars import MARK, UnknownStar, place_stars

LONGEST = 1_000_000
"""Characters of a translated text."""
STATEMENTS = 100
"""So many statements of one file are looked at."""
_MOVED = (
    *(exp.DateAdd, exp.DatetimeAdd, exp.TimestampAdd),
    *(exp.DateSub, exp.DatetimeSub, exp.TimestampSub),
)
_ODD = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""The exceptions that sqlglot raises in addition to its own errors."""


def in_spark(sql: str, dialect: str, plain: bool) -> dict[str, Any]:
    """The queries of a text as ``statements``, or ``why`` there are none.

    ``plain``: a file may hold several statements.  A text of Spark's own stays as it is.
    """
    spark = dialect == "spark"
    if spark and not plain and MARK not in sql:
        return {"statements": [sql]}
    notes: list[str] = []
    try:
        parsed = [one for one in Dialect.get_or_raise(dialect).parse(sql) if one is not None]
        queries = [one for one in map(_query, parsed) if one is not None][:STATEMENTS]
        if spark and MARK not in sql and len(parsed) == 1 and isinstance(parsed[0], exp.Query):
            return {"statements": [sql]}
        return {"statements": [_written(one, notes) for one in queries], "notes": notes}
    except UnknownStar as error:
        return {"why": str(error)}
    except SqlglotError as error:
        if spark:
            return {"statements": [sql]}  # the rewriter says what it cannot read
        said = str(error).splitlines()[0]
        return {"why": f"it could not be read as {dialect}: {said[:300]}"}
    except _ODD as error:
        return {"why": f"it could not be read as {dialect}: {type(error).__name__}"}


def text_of(tree: exp.Expr, level: ErrorLevel = ErrorLevel.IGNORE) -> str:
    """The tree as Spark SQL, each WITH where it stands.

    sqlglot moves those of subqueries to the top of a query, where one name may then have two
    meanings; what stands in parentheses it leaves alone.
    """
    written = exp.Paren(this=tree.copy()).sql("spark", comments=False, unsupported_level=level)
    return str(written)[1:-1]


def _written(tree: exp.Expr, notes: list[str]) -> str:
    _write_in(tree)
    place_stars(tree)
    tree = qualify_as_where(tree)
    if _leave_out_databases(tree):
        notes.append("names of three parts are read without the first: name schema.table")
    try:
        found = text_of(tree, ErrorLevel.RAISE)
    except UnsupportedError as error:
        said = " ".join(str(error).split())
        notes.append(f"Spark has no equal of all of it: {said[:200]}")
        found = text_of(tree)
    if len(found) > LONGEST:
        raise ValueError("too long")
    return found


def _leave_out_databases(tree: exp.Expr) -> bool:
    """Remove databases before schemas, which Spark lacks; return whether there were any."""
    named = [table for table in tree.find_all(exp.Table) if table.args.get("catalog")]
    for table in named:
        table.set("catalog", None)
    return bool(named)


def _write_in(tree: exp.Expr) -> None:
    """Correct two constructs that sqlglot translates differently from Spark.

    ``x <> ALL (SELECT …)``, which it makes of some dialects' NOT IN, is NOT IN again, and the 1 of
    ``interval 1 day`` a number.
    """
    for moved in tree.find_all(*_MOVED):
        by = moved.expression
        if isinstance(by, exp.Literal) and by.is_string and by.name.lstrip("-").isdigit():
            moved.set("expression", exp.Literal.number(int(by.name)))
    for around in list(tree.find_all(exp.NEQ, exp.EQ)):
        right = around.expression
        wanted = exp.All if isinstance(around, exp.NEQ) else exp.Any
        if not isinstance(right, wanted) or right.find(exp.Query) is None:
            continue
        query = (
            right.this if isinstance(right.this, exp.Subquery) else exp.Subquery(this=right.this)
        )
        isin: exp.Expr = exp.In(this=around.this.copy(), query=query.copy())
        around.replace(exp.Not(this=isin) if isinstance(around, exp.NEQ) else isin)


def _query(statement: exp.Expr) -> exp.Expr | None:
    """The query that a statement asks or stores; None for others."""
    if isinstance(statement, exp.Create | exp.Insert):
        statement = statement.expression
    return statement if isinstance(statement, exp.Query) else None
