"""LEFT JOINs to tables that grow, kept as joins where there are many of them.

    m ⟕ a  =  (m ⋈ a)  ∪  (m with NULLs where NOT EXISTS a)

makes two ways of each join, 2^n of n. For three or more the right sides are kept as look-ups
instead, which ``stage_joins`` lets stay where they can be evaluated one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from tapestry.names import ROW_ID
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.from_clause import encloses_relation
from tapestry.sql.ir import And, ArmTable, Condition, ExistsFormula, Formula, Or, SourceTable
from tapestry.sql.normalize.scope import Columns, Scope, with_ctes
from tapestry.sql.read.parse import table_name

MANY = 3
"""From so many outer joins to tables that grow they are kept: two make four ways, each of which
reads narrow ranges only."""


def has_many_joins(node: exp.Expr, scope: Scope, catalog: Catalog) -> bool:
    """Return whether an arm has many outer joins to growing tables, in FROM at any depth.

    Not where a generator stands behind them: what it is given is of one table that has a row.
    """
    count = _Count(catalog)
    return count.of(node, scope) >= MANY and not count.generates


class _Count:
    """Counts outer joins in FROM clauses, those of each CTE once a use."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.known: dict[int, tuple[exp.Expr, int]] = {}
        """By the identity of a query, which is kept so that this stays its own."""
        self.generates = False

    def of(self, node: exp.Expr, scope: Scope) -> int:
        """Return the outer joins of a query, or of the side of a set operation that has most."""
        if id(node) not in self.known:
            self.known[id(node)] = node, self.made(node, scope)
        return self.known[id(node)][1]

    def made(self, node: exp.Expr, scope: Scope) -> int:
        scope = with_ctes(node, scope)
        if isinstance(node, exp.Subquery):
            return self.of(node.this, scope)
        if isinstance(node, exp.SetOperation):
            return max(self.of(node.this, scope), self.of(node.expression, scope))
        if not isinstance(node, exp.Select):
            return 0
        from_ = node.args.get("from_")
        joins = node.args.get("joins") or []
        total = 0 if from_ is None else self.relation(from_.this, scope)
        total += sum(self.join(join, scope) for join in joins)
        self.generates |= bool(total and node.args.get("laterals"))
        return total

    def join(self, node: exp.Join, scope: Scope) -> int:
        outer = node.side in ("LEFT", "RIGHT") and not self.is_static(node.this, scope)
        return outer + self.relation(node.this, scope)

    def relation(self, node: exp.Expr, scope: Scope) -> int:
        total = sum(self.join(join, scope) for join in node.args.get("joins") or [])
        if encloses_relation(node):
            return total + self.relation(node.this, scope)
        if isinstance(node, exp.Subquery):
            return total + self.of(node.this, with_ctes(node, scope))
        if isinstance(node, exp.Table) and table_name(node) in scope.ctes:
            return total + self.of(*scope.ctes[table_name(node)])
        return total

    def is_static(self, node: exp.Expr, scope: Scope) -> bool:
        if not isinstance(node, exp.Table) or table_name(node) in scope.ctes:
            return False
        known = self.catalog.relations.get(table_name(node))
        return isinstance(known, Source) and known.arrival is None


def growing_look_up(
    tables: tuple[ArmTable, ...], on: Formula, columns: Iterable[exp.Expr]
) -> SourceTable | None:
    """Return the right side of a LEFT JOIN as a look-up, even if it grows; None if it cannot be.

    It is one table, ``on`` asks for no other one, and no column reads the clock.
    """
    parts = on.parts if isinstance(on, And) else (on,)
    if len(tables) != 1 or any(_asks(part) for part in parts):
        return None
    if any(timing.contains_now(column) for column in columns):
        return None
    (table,) = tables
    if not isinstance(table, SourceTable) or table.on is not None:
        return None
    return replace(
        table,
        on=tuple(part.sql for part in parts if isinstance(part, Condition)),
        within=tuple(part for part in parts if not isinstance(part, Condition)),
    )


def _asks(formula: Formula) -> bool:
    if isinstance(formula, And | Or):
        return any(map(_asks, formula.parts))
    return isinstance(formula, ExistsFormula)


def null_where_absent(columns: Mapping[str, Columns], table: SourceTable) -> dict[str, Columns]:
    """The columns of a look-up, each NULL where no row of the table is there.

    A column of the table is so by itself, an expression over them need not be.
    """
    return {
        alias: {name: _perhaps(value, table) for name, value in listed.items()}
        for alias, listed in columns.items()
    }


def _perhaps(value: exp.Expr, table: SourceTable) -> exp.Expr:
    if isinstance(value, exp.Column) and value.table == table.alias:
        return value
    perhaps = exp.Case(ifs=[_nothing(table.alias)], default=value.copy())
    perhaps.type = value.type
    perhaps.meta.update(value.meta)
    return perhaps


def is_null_without(node: exp.Expr, alias: str) -> bool:
    """Return whether a value is certainly NULL if the look-up of this alias has no row."""
    if isinstance(node, exp.Paren | exp.Cast):
        return is_null_without(node.this, alias)
    if isinstance(node, exp.Case):
        return bool(node.args["ifs"][0] == _nothing(alias))
    return isinstance(node, exp.Column) and node.table == alias


def _nothing(alias: str) -> exp.If:
    """``WHEN alias._row_id IS NULL THEN NULL``."""
    absent = exp.Is(this=exp.column(ROW_ID, table=alias), expression=exp.Null())
    return exp.If(this=absent, true=exp.Null())
