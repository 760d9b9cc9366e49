"""Handles ``dbt_utils.star(relation)``: the columns of one table, whatever else is in FROM.

The stand-in for the macro writes a star over a name that ``marked`` makes of the relation.  Here it
becomes the star over what FROM calls that relation.
"""

from __future__ import annotations

from sqlglot import exp

MARK = "star_of_"


class UnknownStar(Exception):
    """A star for which FROM does not tell whose columns it lists; the message says so."""


def marked(relation: object) -> str:
    """A name that stands for a relation."""
    return MARK + str(relation).encode().hex()


def place_stars(tree: exp.Expr) -> None:
    """Put the name in FROM into each star of a relation; raises UnknownStar where none fits."""
    for column in list(tree.find_all(exp.Column)):
        if column.table.lower().startswith(MARK):
            name = bytes.fromhex(column.table[len(MARK) :]).decode()
            select = column.find_ancestor(exp.Select)
            owner = _owner(select, name) if select is not None else ""
            if not owner:
                raise UnknownStar(f"dbt_utils.star({name}): which table of FROM it is is not known")
            column.set("table", exp.to_identifier(owner))


def _owner(select: exp.Select, name: str) -> str:
    sources = [one.this for one in (select.args.get("from_"), *select.args.get("joins", ())) if one]
    if len(sources) == 1:
        return str(sources[0].alias_or_name)
    parts = _parts(name)
    fitting = [one for one in sources if _reads(one, parts, select)]
    return str(fitting[0].alias_or_name) if len(fitting) == 1 else ""


def _reads(source: exp.Expr, parts: list[str], select: exp.Select) -> bool:
    """Return whether a source in FROM is the relation, or a CTE over it alone."""
    if isinstance(source, exp.Subquery):
        return _over_alone(source.this, parts)
    if not isinstance(source, exp.Table):
        return False
    if [part.name.lower() for part in source.parts] == parts:
        return True
    if source.db:
        return False
    ctes = [cte for cte in select.root().find_all(exp.CTE) if cte.alias == source.name]
    return len(ctes) == 1 and _over_alone(ctes[0].this, parts)


def _over_alone(query: exp.Expr, parts: list[str]) -> bool:
    tables = list(query.find_all(exp.Table))
    return len(tables) == 1 and [part.name.lower() for part in tables[0].parts] == parts


def _parts(name: str) -> list[str]:
    return [
        part.name.lower() for part in exp.to_table(name.replace('"', "`"), dialect="spark").parts
    ]
