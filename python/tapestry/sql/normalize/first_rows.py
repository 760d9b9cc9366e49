"""The first rows of each key by an order: aggregates, section 11, point 5.

    SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM …)
    WHERE n <= 3

While no row ends, the place of a row only grows: it is an answer iff it is one when it comes. So
the first rows of each key at the begin of a window, and the rows that come, decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, FirstRows
from tapestry.sql.facts.grouping import aggregates
from tapestry.sql.normalize.builder import Builder
from tapestry.sql.normalize.running_states import STATES, ways_of
from tapestry.sql.normalize.scope import Scope, with_ctes
from tapestry.sql.read.parse import table_name
from tapestry.sql.write import build

MOST = 16
"""Places that are kept of a key; each costs a window function over the rows of a window."""
_PLAIN = frozenset({"expressions", "from_", "where", "order", "distinct"})
"""The clauses that may stand in a block above the ranks; its rows count by value."""
_RANKED = frozenset({"expressions", "from_", "joins", "laterals", "where"})
_LIMITED = _RANKED | {"order", "limit"}
_AT_MOST = (exp.LTE, exp.LT, exp.EQ)


def first_rows(
    lifted: AtInstants, node: exp.Expr, scope: Scope, builder: Builder
) -> FirstRows | None:
    """Return the arm as first rows of keys; None if its answers are others."""
    if not isinstance(node, exp.Select):
        return None
    ranked = _limited(node, scope) if node.args.get("limit") is not None else _ranked(node, scope)
    if ranked is None or not 0 < ranked.count <= MOST:
        return None
    if ranked.where is not None and ranked.where.find(exp.Query):
        return None
    timed = [*ranked.keys, *ranked.order, *ranked.found, *filter(None, [ranked.where])]
    if any(timing.contains_now(one) for one in timed):
        return None
    rows = ranked.rows()
    try:
        arms = ways_of(rows, ranked.scope, builder)
    except Refusal:
        return None
    if arms is None:
        return None
    order = tuple(
        exp.Ordered(this=ranked.argument(n), desc=one.args.get("desc"), nulls_first=_nulls(one))
        for n, one in enumerate(ranked.order)
    )
    return FirstRows(
        **vars(lifted),
        width=len(ranked.keys),
        order=order,
        count=ranked.count,
        dense=ranked.dense,
        items=ranked.items,
        where=ranked.where,
        arms=arms,
    )


@dataclass
class _Ranked:
    """A block of ranks: its order, the number of rows that it keeps, and its select list."""

    block: exp.Select
    scope: Scope
    keys: list[exp.Expr]
    order: list[exp.Expr]
    count: int
    dense: bool = False
    items: tuple[exp.Expr, ...] = ()
    where: exp.Expr | None = None
    found: list[exp.Expr] = field(default_factory=list)
    """Values that are listed and are neither keys nor ordered by."""

    def __post_init__(self) -> None:
        """Remove repeated values from the order, and keys, which are equal in rows of one key."""
        values, order = list(self.keys), list[exp.Expr]()
        for one in self.order:
            if one.this not in values:
                values.append(one.this)
                order.append(one)
        self.order = order

    def rows(self) -> exp.Select:
        """Return the rows of the block: keys, ordering values, listed values."""
        values = [*self.keys, *(one.this for one in self.order), *self.found]
        rows = self.block.copy()
        for clause in ("with_", "order", "limit", "distinct"):
            rows.set(clause, None)
        listed = [exp.alias_(value.copy(), f"_r{n}") for n, value in enumerate(values)]
        rows.set("expressions", listed)
        return rows

    def argument(self, place: int) -> exp.Expr:
        """The column of a value behind the keys."""
        return exp.column(f"_a{place + 1}", table=STATES)

    def as_kept(self, value: exp.Expr) -> exp.Expr:
        """The column of a value that is listed."""
        ordered = [one.this for one in self.order]
        if value in self.keys:
            column: exp.Expr = exp.column(f"_k{self.keys.index(value) + 1}", table=STATES)
        elif value in ordered:
            column = self.argument(ordered.index(value))
        else:
            if value not in self.found:
                self.found.append(value.copy())
            column = self.argument(len(ordered) + self.found.index(value))
        column.type = value.type
        return column


def _limited(node: exp.Select, scope: Scope) -> _Ranked | None:
    """The rows of a LIMIT."""
    if not _clauses(node) <= _LIMITED or aggregates(node) or node.find(exp.Window):
        return None
    count = node.args["limit"].args.get("expression")
    if count is None or not count.is_int:
        return None
    items = {item.alias_or_name: item.unalias() for item in node.selects}
    order = node.args.get("order")
    by = [_output(one, items) for one in (order.expressions if order is not None else [])]
    if any(item.find(exp.Query) for item in [*items.values(), *by]):
        return None
    ranked = _Ranked(node, scope, [], by, int(count.name))
    ranked.items = tuple(ranked.as_kept(item) for item in items.values())
    return ranked if len(items) == len(node.selects) else None


def _output(ordered: exp.Expr, items: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an item of ORDER BY, with a name of the select list replaced by its item."""
    value = ordered.this
    if isinstance(value, exp.Column) and not value.table and value.name in items:
        ordered = ordered.copy()
        ordered.set("this", items[value.name].copy())
    return ordered


def _ranked(node: exp.Select, scope: Scope) -> _Ranked | None:
    """The rows whose rank is at most a number, below blocks that filter and list them."""
    items, conditions = [item.unalias().copy() for item in node.selects], list[exp.Expr]()
    while True:
        if not _clauses(node) <= _PLAIN or any(item.find(exp.Query) for item in items):
            return None
        written = node.args.get("where")
        conditions += [] if written is None else [one.copy() for one in _conjuncts(written.this)]
        below = _below(node, scope)
        if below is None:
            return None
        alias, node, scope = below
        inner = {item.alias_or_name.lower(): item.unalias() for item in node.selects}
        if len(inner) < len(node.selects):
            return None
        windows = [name for name, value in inner.items() if value.find(exp.Window)]
        if windows:
            break
        if aggregates(node):
            return None
        items, conditions = (
            [_replaced(one, alias, inner) for one in ones] for ones in (items, conditions)
        )
    return _over(node, scope, windows, _Above(alias, inner, items, conditions))


@dataclass(frozen=True)
class _Above:
    """The select list and conditions of blocks above a block of ranks, over ``alias.…``."""

    alias: str
    inner: Mapping[str, exp.Expr]
    items: list[exp.Expr]
    conditions: list[exp.Expr]

    def names(self, node: exp.Expr) -> set[str]:
        """Return the columns of that alias in a value."""
        columns = node.find_all(exp.Column)
        return {one.name.lower() for one in columns if one.table.lower() == self.alias}


def _over(node: exp.Select, scope: Scope, windows: list[str], above: _Above) -> _Ranked | None:
    counts, others = dict[str, int](), list[exp.Expr]()
    for condition in above.conditions:
        bound = _at_most(condition, above.alias)
        if bound is not None and bound[0] in windows:
            counts[bound[0]] = min(bound[1], counts.get(bound[0], bound[1]))
        else:
            others.append(condition)
    if len(counts) != 1 or not _clauses(node) <= _RANKED or aggregates(node):
        return None
    ((name, count),) = counts.items()
    shown = set[str]().union(*(above.names(one) for one in [*above.items, *others]))
    window = above.inner[name]
    if shown & set(windows) or not _ranks(window):
        return None
    if any(above.inner[one].find(exp.Query) for one in shown):
        return None
    keys = [key.copy() for key in window.args.get("partition_by") or []]
    order = window.args.get("order")
    ordered = [one.copy() for one in (order.expressions if order is not None else [])]
    dense = isinstance(window.this, exp.DenseRank)
    ranked = _Ranked(node, scope, keys, ordered, count, dense)

    def read(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and part.table.lower() == above.alias:
            return ranked.as_kept(above.inner[part.name.lower()])
        return part

    ranked.items = tuple(item.transform(read) for item in above.items)
    if others:
        ranked.where = exp.and_(*(one.transform(read) for one in others))
    return ranked


def _ranks(window: exp.Expr) -> bool:
    """Return whether a window function gives the place of a row in an order."""
    ranks = isinstance(window, exp.Window) and isinstance(
        window.this, exp.RowNumber | exp.Rank | exp.DenseRank
    )
    return ranks and window.args.get("spec") is None and not window.find(exp.Query)


def _at_most(condition: exp.Expr, alias: str) -> tuple[str, int] | None:
    """Return the rank column that a condition limits, and the limit; None for other conditions.

    A rank is at least 1: to be 1 is to be at most 1.
    """
    condition = condition.unnest()
    if isinstance(condition, exp.GTE | exp.GT):
        turned = exp.LTE if isinstance(condition, exp.GTE) else exp.LT
        condition = turned(this=condition.expression, expression=condition.this)
    if isinstance(condition, exp.EQ) and isinstance(condition.this, exp.Literal):
        condition = exp.EQ(this=condition.expression, expression=condition.this)
    if not isinstance(condition, _AT_MOST):
        return None
    column, number = condition.this.unnest(), condition.expression.unnest()
    if not isinstance(column, exp.Column) or column.table.lower() != alias:
        return None
    if not isinstance(number, exp.Literal) or not number.is_int:
        return None
    count = int(number.name) - isinstance(condition, exp.LT)
    return None if isinstance(condition, exp.EQ) and count != 1 else (column.name.lower(), count)


def _below(node: exp.Select, scope: Scope) -> tuple[str, exp.Select, Scope] | None:
    """Return the one block that a block reads, with its alias and its scope."""
    from_ = node.args.get("from_")
    if from_ is None:
        return None
    relation = from_.this
    alias, listed = relation.alias_or_name.lower(), relation.args.get("alias")
    if relation.args.get("joins") or not alias or (listed is not None and listed.columns):
        return None
    if isinstance(relation, exp.Table) and (name := table_name(relation)) in scope.ctes:
        found, scope = scope.ctes[name]
    elif isinstance(relation, exp.Subquery):
        found = relation
    else:
        return None
    while isinstance(found, exp.Subquery):
        if {k for k, v in found.args.items() if v} - {"this", "alias", "with_"}:
            return None
        scope = with_ctes(found, scope)
        found = found.this
    if not isinstance(found, exp.Select):
        return None
    return alias, found, with_ctes(found, scope)


def _replaced(node: exp.Expr, alias: str, inner: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a value over a block's columns, with the items of that block in their place."""

    def read(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and part.table.lower() == alias:
            return build.operand(inner[part.name.lower()])
        return part

    return node.transform(read)


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _clauses(node: exp.Select) -> set[str]:
    return {name for name, value in node.args.items() if value and name != "with_"}


def _nulls(ordered: exp.Expr) -> bool:
    first = ordered.args.get("nulls_first")
    return not ordered.args.get("desc") if first is None else bool(first)
