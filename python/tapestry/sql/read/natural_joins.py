"""Replaces NATURAL JOIN by USING with the columns that both sides have.

Sound because SQL defines it so. Where no name is shared it is a join without a condition. The names
are those of the catalog, so that no column of ours, added to a table later, is among them.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.read.inline_inner_ctes import cte_of
from tapestry.sql.read.parse import table_name


def natural_joins(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """Return the query without NATURAL; raise Refusal if the columns of a side are unknown.

    >>> from sqlglot import parse_one
    >>> from tapestry.sql.catalog import Column
    >>> of = lambda name, *columns: Source(name, tuple(Column(c, "int") for c in columns), None)
    >>> catalog = Catalog({"a": of("a", "k", "x"), "b": of("b", "k", "y")})
    >>> natural_joins(parse_one("SELECT * FROM a NATURAL LEFT JOIN b"), catalog).sql()
    'SELECT * FROM a LEFT JOIN b USING ("k")'
    """
    if not any(join.method == "NATURAL" for join in tree.find_all(exp.Join)):
        return tree
    tree = tree.copy()
    for select in tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        for number, join in enumerate(joins):
            if join.method != "NATURAL":
                continue
            left = _joined(select, joins[:number], catalog)
            right = _columns(join.this, catalog)
            shared = [name for name in left if name in right]
            join.set("method", None)
            if shared:
                join.set("using", [exp.to_identifier(name, quoted=True) for name in shared])
            elif join.side:
                join.set("on", exp.true())
            else:
                join.set("kind", "CROSS")
    nested = next((one for one in tree.find_all(exp.Join) if one.method == "NATURAL"), None)
    if nested is not None:
        raise _untold(nested)
    return tree


def _joined(select: exp.Select, joins: list[exp.Join], catalog: Catalog) -> list[str]:
    """The columns of a FROM clause up to some join, each name once."""
    names = _columns(select.args["from_"].this, catalog)
    for join in joins:
        more = _columns(join.this, catalog)
        merged = {column.name.lower() for column in join.args.get("using") or []}
        doubled = set(names) & set(more) - merged
        names += [name for name in more if name not in merged]
        if doubled:
            names = [name for name in names if name not in doubled] + [f"{n}\0" for n in doubled]
    return names


def _columns(relation: exp.Expr, catalog: Catalog) -> list[str]:
    """The names of a relation's columns, in lower case."""
    alias = relation.args.get("alias")
    if alias is not None and alias.columns:
        return [column.name.lower() for column in alias.columns]
    if isinstance(relation, exp.Table) and not relation.args.get("joins"):
        cte = cte_of(relation)
        if cte is not None:
            return _columns(cte, catalog)
        source = catalog.relations.get(table_name(relation))
        if isinstance(source, Source):
            return [column.name.lower() for column in source.columns]
    body = relation.this if isinstance(relation, exp.Subquery | exp.CTE) else None
    while isinstance(body, exp.Subquery | exp.SetOperation):
        body = body.this
    if not isinstance(body, exp.Select) or relation.args.get("joins"):
        raise _untold(relation)
    names = []
    for item in body.selects:
        if isinstance(item, exp.Star) and not item.args.get("except_"):
            names += _joined(body, body.args.get("joins") or [], catalog)
        elif not item.is_star and item.alias_or_name:
            names.append(item.alias_or_name.lower())
        else:
            raise _untold(item)
    return names


def _untold(node: exp.Expr) -> Refusal:
    return Refusal(
        "NATURAL JOIN of columns that cannot be told",
        node.sql("spark"),
        "write USING (column, ...) or ON",
        code="natural-join",
    )
