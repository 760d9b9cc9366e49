"""A context without tables, to try the normalization of conditions on its own."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tapestry.sql.ir import ExistsFormula, Formula
from tapestry.sql.normalize.normalize_conditions import normalize_conditions
from tapestry.sql.passes.ir.solve_time_atoms import Solve


class NoTables:
    """Columns stand for themselves; there are no subqueries."""

    def resolve(self, node: exp.Expr) -> exp.Expr:
        return node.copy()

    def exists(self, query: exp.Expr, negated: bool) -> Formula:
        raise AssertionError("no subquery is expected here")

    def exists_where(
        self, query: exp.Expr, of: Callable[[list[exp.Expr]], exp.Expr]
    ) -> ExistsFormula:
        raise AssertionError("no subquery is expected here")


def solve(condition: exp.Expr, wanted: str) -> Formula:
    """The formula for the condition being 'true', 'false' or 'unknown'."""
    return Solve("UTC").formula(normalize_conditions(condition, NoTables(), wanted))
