"""What sqlglot's generators do not carry over from Spark to another engine."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.postgres import Structs, for_postgres


def for_dialect(tree: exp.Expr, dialect: str, structs: Structs | None = None) -> exp.Expr:
    """The tree as the dialect needs it; Spark's own is left as it is.

    DuckDB: ``unix_timestamp`` of a timestamp would become the parsing of a text.
    """
    if dialect == "postgres":
        return for_postgres(tree, structs or {})
    if dialect != "duckdb":
        return tree
    return tree.transform(_for_duckdb)


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.StrToUnix) and not node.this.is_type("text", "varchar"):
        seconds = exp.Floor(this=exp.Anonymous(this="EPOCH", expressions=[node.this.copy()]))
        return exp.cast(seconds, "bigint")
    return node
