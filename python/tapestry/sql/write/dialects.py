"""Rewrites the parts of Spark SQL that sqlglot's generators do not carry over to other engines."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.write import build
from tapestry.sql.write.explicit import put_parentheses, write_literals
from tapestry.sql.write.laterals import joined_laterals
from tapestry.sql.write.postgres import Structs, for_postgres

MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}


def for_dialect(
    tree: exp.Expr, dialect: str, structs: Structs | None = None, copy: bool = True
) -> exp.Expr:
    """The tree as the dialect needs it; in Spark's own, names get their quotes, in place.

    With ``copy=False`` the tree itself may become it in the others too.

    DuckDB: ``unix_timestamp`` of a timestamp would become the parsing of a text, and
    ``timestampdiff`` a count of the unit's boundaries; Spark's counts whole units, towards zero.
    """
    if dialect not in ("spark", "databricks") and tree.find(exp.Lateral) is not None:
        tree = joined_laterals(tree.copy() if copy else tree, dialect)
    if dialect == "postgres":
        return for_postgres(tree, structs or {})
    if dialect != "duckdb":
        build.quote(tree)
        put_parentheses(tree)
        write_literals(tree)
        return tree
    if tree.find(exp.UnixSeconds, exp.StrToUnix, exp.UnixMillis, exp.TimestampDiff) is None:
        return tree
    return tree.transform(_for_duckdb, copy=copy)


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.UnixSeconds) or (
        isinstance(node, exp.StrToUnix) and not node.this.is_type("text", "varchar")
    ):
        seconds = exp.Floor(this=exp.Anonymous(this="EPOCH", expressions=[node.this.copy()]))
        return exp.cast(seconds, "bigint")
    if isinstance(node, exp.UnixMillis):
        micros = exp.Anonymous(this="EPOCH_US", expressions=[node.this.copy()])
        return exp.Paren(this=exp.IntDiv(this=micros, expression=exp.Literal.number(1000)))
    if isinstance(node, exp.TimestampDiff) and node.text("unit").upper() in MICROS:
        ends = (
            exp.Anonymous(this="EPOCH_US", expressions=[e]) for e in (node.this, node.expression)
        )
        apart = exp.Paren(this=exp.Sub(this=next(ends), expression=next(ends)))
        size = exp.Literal.number(f"{MICROS[node.text('unit').upper()]}.0")
        units = exp.Anonymous(this="TRUNC", expressions=[exp.Div(this=apart, expression=size)])
        return exp.cast(units, "bigint")
    return node
