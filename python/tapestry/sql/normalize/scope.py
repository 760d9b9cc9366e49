"""The meaning of names: the ways to form a row of FROM, and the scopes of columns and CTEs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.ir import ArmTable, Formula
from tapestry.sql.work import size, spend

Columns = Mapping[str, exp.Expr]


@dataclass(frozen=True)
class Way:
    """One way to form a row of a FROM clause: its tables, condition and columns' expressions."""

    tables: tuple[ArmTable, ...]
    where: Formula
    columns: Mapping[str, Columns]
    keys: tuple[exp.Expr, ...] = ()
    """The expressions that identify the row of each relation, in the order written."""


@dataclass(frozen=True)
class Scope:
    """The columns and CTEs visible in a block: its own first, then those of blocks around it."""

    columns: Mapping[str, Columns]
    ctes: Mapping[str, tuple[exp.Query, Scope]]
    parent: Scope | None = None

    def column(self, node: exp.Column) -> exp.Expr:
        """Return the expression of a column of this block or the one around it; else Refusal."""
        scope: Scope | None = self
        blocks = 0
        while scope is not None:
            columns = scope.columns.get(node.table)
            if columns is not None and node.name in columns:
                if blocks > 1:
                    raise Refusal(
                        "a subquery refers to a table two levels up, which Spark does not support",
                        node.sql("spark"),
                        "compare through the level between, or join there; a semi or anti join"
                        " inside a subquery is a level, too",
                        code="correlated",
                    )
                found = columns[node.name]
                spend(2 * size(found), "expressions where their columns are used")
                return found.copy()
            blocks += bool(scope.columns)
            scope = scope.parent
        raise Refusal(
            "a column could not be resolved", node.sql("spark"), "qualify it", code="unknown-column"
        )


def with_ctes(node: exp.Expr, scope: Scope) -> Scope:
    """The scope with the CTEs of a query too, each of which sees those before it."""
    with_ = node.args.get("with_")
    if with_ is None:
        return scope
    for cte in with_.expressions:
        ctes = {**scope.ctes, cte.alias.lower(): (cte.this, scope)}
        scope = Scope(scope.columns, ctes, scope.parent)
    return scope
