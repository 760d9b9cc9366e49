"""Finds columns of an answer that may differ each time they are computed from the same rows.

A sum of DOUBLEs is added up in no fixed order, a list is made in none. Such a value may be shown:
whichever came out is one of Q(t). Where it decides what other rows are there (a condition, a key,
DISTINCT, a set operation, a block around it), rows that were computed twice need not be equal, and
what has changed cannot be told from what has not.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.facts.from_clause import opened
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.operators.block import is_bag_union
from tapestry.sql.passes.tree.refuse_inexact import refuse_inexact


def unsteady_places(tree: exp.Query, catalog: Catalog) -> tuple[int, ...] | None:
    """Return the places, from 0, that show such a value; None if other rows depend on one."""
    if _is_steady(tree, catalog):
        return ()
    shown = [place for select in _arms(tree) for place in _of_several_rows(select)]
    places = sorted(set(shown))
    if not _is_steady(_without(tree, places), catalog):
        return None
    return tuple(
        place
        for place in places
        if not _is_steady(_without(tree, [one for one in places if one != place]), catalog)
    )


def _is_steady(tree: exp.Query, catalog: Catalog) -> bool:
    try:
        refuse_inexact(tree, catalog)
    except Refusal:
        return False
    return True


def _without(tree: exp.Query, places: list[int]) -> exp.Query:
    """The query with NULLs at these places of its arms."""
    copy = tree.copy()
    for select in _arms(copy):
        for place in places:
            item = select.selects[place]
            bare = exp.Alias(this=exp.Null(), alias=exp.to_identifier(item.alias_or_name or "_"))
            item.replace(bare)
    return copy


def _arms(tree: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of the outermost UNION ALL whose rows are shown as they are."""
    node = opened(tree)
    if is_bag_union(node):
        yield from _arms(node.this)
        yield from _arms(node.expression)
    elif isinstance(node, exp.Select) and not node.args.get("distinct") and not is_limited(node):
        yield node


def _of_several_rows(select: exp.Select) -> Iterator[int]:
    for place, item in enumerate(select.selects):
        if item.find(exp.AggFunc, exp.Query) is not None:
            yield place
