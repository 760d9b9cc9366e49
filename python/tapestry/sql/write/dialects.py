"""Rewrites the parts of Spark SQL that sqlglot's generators do not carry over to other engines."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.write import build
from tapestry.sql.write.explicit import put_parentheses, write_literals
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


# -- LATERAL VIEW: a join with the elements of an array or map, in order --------------------------
ARRAY = {
    "duckdb": "SELECT UNNEST(_a) AS _e, GENERATE_SUBSCRIPTS(_a, 1) - 1 AS _p",
    "postgres": "SELECT _u._e, CAST(_u._p - 1 AS INT) AS _p"
    " FROM UNNEST(_a) WITH ORDINALITY AS _u(_e, _p)",
}
"""Element and place of an array ``_a``: no row of an empty one and of NULL."""


def joined_laterals(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The tree with a join for each LATERAL VIEW, in place.

    Raises Refusal for a generator that the dialect has no form of.
    """
    for select in list(tree.find_all(exp.Select)):
        laterals = select.args.get("laterals") or []
        for lateral in laterals:
            select.append("joins", _join(lateral, dialect))
        if laterals:
            select.set("laterals", None)
            if select.args.get("from_") is None:
                first, *others = select.args["joins"]
                select.set("from_", exp.From(this=first.this))
                select.set("joins", others)
    return tree


def _join(lateral: exp.Lateral, dialect: str) -> exp.Join:
    alias, call = lateral.args["alias"], lateral.this
    columns = [column.copy() for column in alias.columns]
    placed = isinstance(call, exp.Posexplode)
    is_map = len(columns) - placed == 2
    if (is_map and dialect != "duckdb") or dialect not in ARRAY:
        raise Refusal(
            f"a generator over a map has no form in {dialect}" if is_map else
            f"a generator has no form in {dialect}",
            lateral.sql("spark").strip(),
            "explode in a table upstream, by a query of that database's own",
            code="generator",
        )  # fmt: skip
    argument = call.this
    if is_map:
        argument = exp.Anonymous(this="MAP_ENTRIES", expressions=[argument.copy()])
    rows: exp.Expr = exp.maybe_parse(ARRAY[dialect], dialect=dialect)
    for hole in [one for one in rows.find_all(exp.Column) if one.name == "_a"]:
        hole.replace(argument.copy())
    element = exp.column("_e", table="_r")
    values: list[exp.Expr] = [element]
    if is_map:
        values = [exp.Dot(this=element.copy(), expression=exp.to_identifier(part))
                  for part in ("key", "value")]  # fmt: skip
    listed = [exp.column("_p", table="_r"), *values] if placed else values
    items = [exp.alias_(value, name) for value, name in zip(listed, columns, strict=True)]
    inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("_r")))
    body = exp.Select(expressions=items, from_=exp.From(this=inner))
    table = exp.TableAlias(this=alias.this.copy())
    relation = exp.Lateral(this=exp.Subquery(this=body), alias=table)
    if lateral.args.get("outer"):
        return exp.Join(this=relation, side="LEFT", on=exp.true())
    return exp.Join(this=relation, kind="CROSS")
