"""Finds columns with a group's value that keeps changing: each of its values is an answer.

``SELECT k, count(*) … GROUP BY k`` is 1, 2, 3 … for each k, for every one of them was once an
answer. That is rarely meant, so a run says it; a condition that closes a group by time (``HAVING
now() >= day + INTERVAL 1 DAY``) makes its value the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.arms import Lifted
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.from_clause import derived_tables, leaf_selects
from tapestry.sql.facts.grouping import is_aggregate

CURRENT = "a table or view downstream that takes the latest"
"""The advice for an author who needs the current value alone."""
TEXT = (
    "RunningValues: every intermediate value of {columns} becomes an answer (aggregates and window"
    " values change as rows come); for the current one: {current}; for one a group: a condition in"
    " HAVING, the value not shown, or closed by time; running_values: wanted silences this"
)


def running_values(columns: Sequence[str]) -> str:
    """Return the warning about such columns; "" if there are none."""
    return TEXT.format(columns=", ".join(columns), current=CURRENT) if columns else ""


def running_columns(
    arms: Sequence[Lifted], columns: Sequence[str], catalog: Catalog
) -> tuple[str, ...]:
    """Return the columns that show such a value."""
    found: dict[str, None] = {}
    for arm in arms:
        walk = _Values(arm, catalog)
        for select in leaf_selects(arm.tree):
            for place, name in enumerate(columns):
                if place not in arm.clocks and walk.runs(select.selects[place], select, False):
                    found[name] = None
    return tuple(found)


class _Values:
    """Follows a value of a select list to the expressions it is computed from."""

    def __init__(self, arm: Lifted, catalog: Catalog) -> None:
        self.tables = {table.alias: table for table in arm.tables}
        self.catalog = catalog

    def runs(self, item: exp.Expr, select: exp.Select, closed: bool) -> bool:
        """Return whether a value keeps changing; ``closed``: a condition around waits for a
        time.
        """
        closed = closed or _closes(select)
        derived = {table.alias: table for table in derived_tables(select)}
        for part in item.walk(prune=lambda one: _is_value(one) or isinstance(one, exp.Query)):
            if _is_fixed(part, select):
                continue
            if isinstance(part, exp.Query):
                if closed or isinstance(part.parent, exp.Exists | exp.In):
                    continue
                if self._grows(part):
                    return True
            elif _is_value(part):
                if not closed and self._grows(select) and not self._is_steady(part):
                    return True
            elif isinstance(part, exp.Column) and part.table in derived:
                inner = derived[part.table].this
                around = closed or _waits(select, part.table)
                for leaf in leaf_selects(inner):
                    place = [name.lower() for name in inner.named_selects].index(part.name.lower())
                    if self.runs(leaf.selects[place], leaf, around):
                        return True
        return False

    def _grows(self, query: exp.Expr) -> bool:
        """Return whether time or later rows change a query's rows; static rows never change."""
        names = [table.alias_or_name for table in query.find_all(exp.Table)]
        known = [self.tables[name] for name in names if name in self.tables]
        return any(table.appended or table.ends for table in known) or timing.contains_now(query)

    def _is_steady(self, value: exp.Expr) -> bool:
        """Return whether a value is the earliest arrival, which no later row changes."""
        if not isinstance(value, exp.Min) or not isinstance(value.this, exp.Column):
            return False
        table = self.tables.get(value.this.table)
        source = self.catalog.relations[table.source] if table is not None else None
        arrival = source.arrival if isinstance(source, Source) else None
        return arrival is not None and arrival.lower() == value.this.name.lower()


def _is_value(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) or is_aggregate(node)


def _is_fixed(value: exp.Expr, select: exp.Select) -> bool:
    """Return whether only rows with one given value pass: ``WHERE rn = 1``."""
    clauses = (select.args.get("where"), select.args.get("having"))
    return any(
        isinstance(one, exp.EQ)
        and value in (one.left, one.right)
        and isinstance(one.right if value == one.left else one.left, exp.Literal)
        for clause in clauses
        if clause is not None
        for one in _conjuncts(clause.this)
    )


def _closes(select: exp.Select) -> bool:
    """Return whether HAVING waits for a time, or WHERE does for a grouping expression."""
    having, where = select.args.get("having"), select.args.get("where")
    if having is not None and timing.contains_now(having.this):
        return True
    group = select.args.get("group")
    keys = list(group.expressions) if group is not None else []
    if where is None or not keys:
        return False

    def loose(node: exp.Expr) -> bool:
        if node in keys:
            return False
        return isinstance(node, exp.Column) or any(loose(one) for one in node.iter_expressions())

    return any(timing.contains_now(one) and not loose(one) for one in _conjuncts(where.this))


def _waits(select: exp.Select, alias: str) -> bool:
    """Return whether a condition over a derived table waits for a time."""
    where = select.args.get("where")
    conditions = [] if where is None else _conjuncts(where.this)
    return any(
        timing.contains_now(one) and any(c.table == alias for c in one.find_all(exp.Column))
        for one in conditions
    )


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
