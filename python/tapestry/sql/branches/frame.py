"""The parameters of one rendering: the window as SQL, and what is known about the bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.sql.branches.join_order import NOT_KNOWN, JoinOrder
from tapestry.sql.branches.measured import Measured
from tapestry.sql.branches.order import Order
from tapestry.sql.ir import Table


@dataclass(frozen=True)
class Frame:
    """One window ``(tau, t]`` as SQL expressions; ``tau=None`` is minus infinity.

    few
        The rows that a branch narrows its source to are known to be few: Spark, which plans with
        the size of the whole table, is told so.
    unsplit
        The sources are so small that branches for the sake of reading less cost more than they
        save.
    joins
        What says in which order tables are joined.
    measured
        What was measured of the rows that the branches narrow their tables to.
    """

    tau: exp.Expr | None
    t: exp.Expr
    order: Order
    few: bool = False
    unsplit: bool = False
    joins: JoinOrder = NOT_KNOWN
    measured: Measured | None = None

    def within(self, conditions: Iterable[exp.Expr], tables: Iterable[Table]) -> Frame:
        """The window, with what is known where these conditions hold of rows of these tables."""
        return replace(self, order=self.order.within(conditions, tables))

    def before(self) -> Frame | None:
        """The window ``(-inf, tau]`` of all runs before; None where there was none."""
        if self.tau is None:
            return None
        return Frame(None, self.tau, self.order, joins=self.joins)


def at_most(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left <= right``."""
    return exp.LTE(this=left.copy(), expression=right.copy())


def less(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left < right``."""
    return exp.LT(this=left.copy(), expression=right.copy())


def greater(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left > right``."""
    return exp.GT(this=left.copy(), expression=right.copy())


def greatest(bounds: tuple[exp.Expr, ...]) -> exp.Expr:
    """The latest of some bounds that are known not to be NULL (Spark's greatest skips NULLs)."""
    return _extreme(exp.Greatest, bounds)


def least(bounds: tuple[exp.Expr, ...]) -> exp.Expr:
    """The earliest of some bounds, NULLs skipped (in every dialect, as Spark does)."""
    return _extreme(exp.Least, bounds)


def _extreme(function: type[exp.Expr], bounds: tuple[exp.Expr, ...]) -> exp.Expr:
    if len(bounds) == 1:
        return bounds[0].copy()
    copies = [bound.copy() for bound in bounds]
    return function(this=copies[0], expressions=copies[1:], ignore_nulls=True)
