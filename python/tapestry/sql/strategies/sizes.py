"""Estimates the length of a run's SQL from the standard form, before it is rendered.

The reckoning follows what the strategies write, with every row late, and is not exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.order import Order
from tapestry.sql.branches.selects import on_of
from tapestry.sql.branches.split_by_bound import drop_redundant_bounds
from tapestry.sql.ir import Block, Conjunction, Exists, Table, ValueTable
from tapestry.sql.work import size, spend

LINE, INSTANT, RELATION = 20, 60, 50
"""Characters beside those of an expression: its line, a comparison with an instant, a table."""


@dataclass
class Sizes:
    """Estimates of characters of pieces of SQL, given the known orders of bounds."""

    order: Order
    known: dict[int, tuple[object, int]] = field(default_factory=dict)
    """Size of each expression and table by value by its identity, kept so that this stays its own:
    views over views use one table again and again."""

    def of(self, nodes: Iterable[exp.Expr], beside: int = LINE) -> int:
        """The texts of expressions, each on a line of its own."""
        total = 0
        for node in nodes:
            if id(node) not in self.known:
                spend(2 * size(node), "expressions of the SQL of a run")
                self.known[id(node)] = (node, len(node.sql("spark")))
            total += self.known[id(node)][1] + beside
        return total

    def branches(self, conjunction: Conjunction) -> int:
        """Return the number of branches that its lower bounds make."""
        return max(1, len(self.kept(conjunction)))

    def kept(self, conjunction: Conjunction) -> tuple[exp.Expr, ...]:
        """Return its lower bounds that no other one implies."""
        order = self.order.within(conjunction.conditions, conjunction.tables)
        return drop_redundant_bounds(conjunction.lowers, order)

    def own(self, conjunction: Conjunction) -> int:
        """Return the size of its conditions, and of the one that its interval is not empty."""
        lowers, uppers = conjunction.lowers, conjunction.uppers
        pairs = self.of(lowers) * len(uppers) + self.of(uppers, 0) * len(lowers)
        return self.of(conjunction.conditions) + pairs

    def reached(self, conjunction: Conjunction) -> int:
        """Return the size of the conditions on its lower bounds at two instants."""
        return self.of(conjunction.lowers, INSTANT + LINE) + INSTANT

    def first(self, conjunction: Conjunction) -> int:
        """Return the size of the greatest of its lower bounds."""
        return self.of(self.kept(conjunction), 2)

    def inner(self, exists: Exists, instant: int, head: int = 0) -> int:
        """Return the size of ``[NOT] EXISTS`` at an instant; ``head``: of a nested one's
        columns.
        """
        inner = exists.inner
        text = 2 * RELATION + self.relations(inner.tables) + self.of(inner.conditions)
        text += self.of(inner.lowers + inner.uppers, instant + LINE)
        text += head * bool(inner.exists)
        return text + sum(self.inner(one, instant, head) for one in inner.exists)

    def relations(self, tables: tuple[Table, ...]) -> int:
        """Return the size of tables in FROM; a table by value is written out."""
        total = 0
        for table in tables:
            total += RELATION + 2 * len(table.alias) + self.of(on_of(table) or ())
            if isinstance(table, ValueTable):
                total += self.universe(table)
        return total

    def universe(self, table: ValueTable) -> int:
        """Return the size of the query for all values of a table by value."""
        if id(table) not in self.known:
            total = 0
            for block in table.universe:
                for one in block.disjuncts:
                    total += self.of(block.select) + self.of(one.conditions)
                    total += self.reached(one) + self.relations(one.tables)
            self.known[id(table)] = (table, total)
        return self.known[id(table)][1]


def readings_of(block: Block, sizes: Sizes) -> int:
    """Return how often candidates read tables, with each CTE written out wherever it is used.

    Spark plans it so: the candidates up to τ start from those in the window, which are all written
    out in each select, so that it grows with the square of the candidates.
    """
    found = before = 0
    for one in block.disjuncts:
        own = len(block.tables)
        selects = sizes.branches(one)
        tried = selects * own
        for edge in edges(one):
            many = 1 if edge.rises_at_end else max(1, sizes.branches(edge.last))
            selects += many
            tried += many * (own + sum(len(link.tables) for link in edge.chain))
        found += tried + sum(_checked(exists, tried) for exists in one.exists)
        before += selects
    return found * (1 + before)


def _checked(exists: Exists, tried: int) -> int:
    """Return the readings of a subquery at each candidate; a nested one starts from all."""
    inner = exists.inner
    if not inner.exists:
        return len(inner.tables)
    pairs = tried + len(inner.tables)
    return pairs + sum(_checked(one, pairs) for one in inner.exists)
