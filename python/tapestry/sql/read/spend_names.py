"""Estimates the cost of resolving columns before stars are expanded.

A star has as many columns as the relations under it, and a CTE with two stars over the one before
doubles them. So columns are counted from the inside out, once for each query, however often it is
used.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.read.inline_inner_ctes import cte_of
from tapestry.sql.read.parse import table_name
from tapestry.sql.work import spend, spend_tree

_COLUMN = 8
"""Units for a column that a star stands for."""
_RELATION = 12
"""Units for a relation in FROM: its columns are looked at for each of those beside it."""


def spend_names(tree: exp.Query, catalog: Catalog) -> None:
    """Spend what it costs to resolve the names of a query; raise Refusal where it is too much.

    >>> from sqlglot import parse_one
    >>> from tapestry.sql.work import bounded
    >>> ctes = [f"c{n} as (select a.*, b.* from c{n - 1} a, c{n - 1} b)" for n in range(1, 40)]
    >>> text = f"with c0 as (select 1 as x), {', '.join(ctes)} select * from c39"
    >>> with bounded(text):
    ...     spend_names(parse_one(text, dialect="spark"), Catalog({}))
    Traceback (most recent call last):
    tapestry.errors.Refusal: the query stands for too much to be rewritten in time (columns of st...
    """
    spend_tree(tree, "the query with its views")
    widths: dict[int, int] = {}
    for query in reversed(list(tree.find_all(exp.Query, bfs=True))):
        _width(query, catalog, widths)


def _width(query: exp.Expr, catalog: Catalog, widths: dict[int, int]) -> int:
    """Return the number of columns of a query."""
    if id(query) in widths:
        return widths[id(query)]
    if isinstance(query, exp.Subquery | exp.SetOperation):
        width = _width(query.this, catalog, widths)
    elif isinstance(query, exp.Select):
        width = _width_of_select(query, catalog, widths)
    else:
        width = 1
    widths[id(query)] = width
    return width


def _width_of_select(select: exp.Select, catalog: Catalog, widths: dict[int, int]) -> int:
    relations = list(relations_of(select))
    spend(_RELATION * len(relations), "relations in FROM")
    items = select.expressions
    stars = [item for item in items if item.is_star]
    if not stars:
        return len(items)
    wide = {one.alias_or_name.lower(): _columns(one, catalog, widths) for one in relations}
    width = len(items) - len(stars)
    for star in stars:
        named = star.text("table").lower()
        more = wide.get(named, 0) if named else sum(wide.values())
        spend(_COLUMN * more, "columns of stars")
        width += more
    return width


def _columns(relation: exp.Expr, catalog: Catalog, widths: dict[int, int]) -> int:
    if not isinstance(relation, exp.Table):
        return _width(relation, catalog, widths)
    cte = cte_of(relation)
    if cte is not None:
        return _width(cte.this, catalog, widths)
    known = catalog.relations.get(table_name(relation))
    return len(known.columns) if isinstance(known, Source) else 1
