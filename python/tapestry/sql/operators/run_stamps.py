"""Columns of a current table that say when its rows were written: `now() AS loaded_at`.

An item of the outermost select list that reads the clock and no column has one value for all rows
of a run. It is no part of what a row is: a row keeps the value that it was written with for as long
as it stays. An item that reads the clock *and* a column is a value of the answer as any.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.from_clause import leaf_selects, opened
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.read.audit_columns import audit_places, without_audit_columns
from tapestry.sql.read.read_query import ReadQuery, read


@dataclass(frozen=True)
class Stamp:
    """A column by its place in the select list, from 0, and its expression."""

    place: int
    value: exp.Expr

    def at(self, t: datetime) -> str:
        """The value in a run at ``t``."""
        return timing.as_of(self.value, timing.literal(t)).sql("spark")


def apart_from_stamps(query: ReadQuery) -> tuple[ReadQuery, tuple[Stamp, ...]]:
    """Return the query without such columns, and the columns.

    Raises Refusal where nothing else is listed.
    """
    tree = _lifted(query.tree)
    found = _stamps(tree)
    if not found:
        return query, ()
    if len(found) == len(tree.selects):
        audit_places(tree)  # raises
    bare = without_audit_columns(tree, tuple(one.place for one in found))
    if not is_limited(opened(bare)):
        opened(bare).set("order", None)
    return read(bare.sql("spark"), query.catalog), found


def _lifted(tree: exp.Query) -> exp.Query:
    """The query with stamps of a CTE or derived table that it only passes on in its own list.

    WITH f AS (SELECT id, now() AS at FROM m) SELECT f.id, f.at FROM f
    WITH f AS (SELECT id FROM m) SELECT f.id, now() AS at FROM f

    Sound because no join leaves the relation out, and nothing else looks at the column.
    """
    tree = tree.copy()
    while any(_lift(select, tree) for select in leaf_selects(tree)):
        pass
    return tree


def _lift(select: exp.Select, tree: exp.Query) -> bool:
    """Lift the stamps of the only relation in FROM, in place; return whether there were any."""
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return False
    body, alias = _body(from_.this, tree), from_.this.alias_or_name
    if body is None or is_limited(opened(body)):
        return False
    for inner in list(leaf_selects(body)):
        while _lift(inner, tree):
            pass
    lifted = []
    for stamp in _stamps(body):
        name = body.selects[stamp.place].alias_or_name.lower()
        uses = [
            c for c in select.find_all(exp.Column) if (c.table, c.name.lower()) == (alias, name)
        ]
        items = [item for item in select.selects if item.unalias() in uses]
        if len(uses) == len(items) == 1:
            shown = exp.alias_(stamp.value.copy(), items[0].alias_or_name, quoted=True)
            lifted.append((stamp.place, items[0], shown))
    if not lifted or len(lifted) == len(body.selects):
        return False
    for _, item, shown in lifted:
        item.replace(shown)
    body.replace(without_audit_columns(body, tuple(place for place, *_ in lifted)))
    return True


def _body(relation: exp.Expr, tree: exp.Query) -> exp.Query | None:
    """Return the query of a derived table or of a CTE with one reader; None for other relations."""
    alias = relation.args.get("alias")
    if alias is not None and alias.columns:
        return None
    if isinstance(relation, exp.Subquery):
        return relation.this if isinstance(relation.this, exp.Query) else None
    ctes = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() == relation.name.lower()]
    uses = [one for one in tree.find_all(exp.Table) if one.name.lower() == relation.name.lower()]
    if len(ctes) != 1 or len(uses) != 1 or ctes[0].args["alias"].columns:
        return None
    return ctes[0].this if isinstance(ctes[0].this, exp.Query) else None


def _stamps(tree: exp.Query) -> tuple[Stamp, ...]:
    """Return the stamps that all SELECTs of the query's rows have in common."""
    first, *others = leaf_selects(tree)
    found = tuple(
        Stamp(place, item.unalias())
        for place, item in enumerate(first.selects)
        if _is_of_run(item) and all(_same(item, one.selects[place]) for one in others)
    )
    return () if is_limited(opened(tree)) and _is_ordered_by(tree, found) else found


def _is_of_run(item: exp.Expr) -> bool:
    """Return whether an item reads the clock, and nothing of a row or of several."""
    rows = (exp.Column, exp.Query, exp.AggFunc, exp.Window, exp.Explode)
    return timing.contains_now(item) and item.find(*rows) is None


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    return bool(one.unalias() == other.unalias())


def _is_ordered_by(tree: exp.Query, found: tuple[Stamp, ...]) -> bool:
    """Return whether ORDER BY may name such a column, or count places."""
    order = opened(tree).args.get("order")
    names = {tree.selects[one.place].alias_or_name.lower() for one in found}
    return order is not None and any(
        part.is_int or (isinstance(part, exp.Column) and part.name.lower() in names)
        for part in order.walk()
        if isinstance(part, exp.Literal | exp.Column)
    )
