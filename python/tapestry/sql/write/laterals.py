"""Writes LATERAL VIEW in other dialects: a join with the elements of an array or map, in order."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal

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
