"""How long the SQL of a run would be, reckoned from the standard form before a word is written.

Alternatives multiply: each way to form a row of FROM (two for an outer join of sources that grow)
is a block, each OR over time or subqueries a disjunct of it, and each lower bound and each start or
end of an inner row a select.  The reckoning follows the strategies, with every row late, and is not
exact: what counts is that no query is accepted whose rendering takes minutes, or whose text no
engine plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.describe import Part
from tapestry.sql.ir import Block, Conjunction, Exists, Table, ValueTable
from tapestry.sql.order import Order
from tapestry.sql.passes.split_by_bound import drop_redundant_bounds
from tapestry.sql.passes.to_standard_form import to_standard_form
from tapestry.sql.selects import aliases_of, expressions_of, on_of, source_columns
from tapestry.sql.strategy_bounds import fits_bounds
from tapestry.sql.strategy_candidates import edges
from tapestry.sql.strategy_least import MANY, without_subqueries
from tapestry.sql.work import size, spend

LONGEST = 1_000_000
"""Characters of a run's SQL, by this reckoning."""
A_UNIT = 20
"""Characters that are written for a unit of work."""
LINE, INSTANT, RELATION = 20, 60, 50


def refuse_too_long(parts: Sequence[Part], order: Order, sql: str) -> None:
    """Raise Refusal where the SQL of a run would be too long to be written, or planned."""
    characters = text_size(parts, order)
    spend(characters // A_UNIT, "characters of the SQL of a run")
    if characters <= LONGEST:
        return
    blocks = [block for part in parts for block in part.blocks]
    disjuncts = sum(len(block.disjuncts) for block in blocks)
    subqueries = sum(len(one.exists) for block in blocks for one in block.disjuncts)
    raise Refusal(
        f"the SQL of a run would be about {characters / 1e6:,.1f} million characters long (ways to"
        f" form a row of FROM: {len(blocks)}, alternatives in them: {disjuncts}, subqueries in"
        f" those: {subqueries})",
        sql,
        "write it as several models and a UNION ALL of them; use fewer ORs over now() and"
        " subqueries, fewer outer joins and UNIONs inside of joins",
    )


def text_size(parts: Sequence[Part], order: Order) -> int:
    """About how many characters the longest SQL of a run has."""
    sizes = _Sizes(order)
    return sum(
        sizes.block(block) * (2 if part.by_value else 1) for part in parts for block in part.blocks
    )


@dataclass
class _Sizes:
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

    def block(self, block: Block) -> int:
        """All that is written for a block."""
        if fits_bounds(block) and len(block.disjuncts) < MANY:
            return self.by_bounds(block)
        return self.by_least(block) if without_subqueries(block) else self.by_candidates(block)

    def by_bounds(self, block: Block) -> int:
        """Each disjunct in branches, each with all others beside it."""
        total = 0
        spend(len(block.disjuncts) ** 2, "pairs of alternatives")
        for one in block.disjuncts:
            first = self.first(one)
            each = self.of(block.select + block.keys) + self.relations(one.tables)
            each += self.own(one) + self.reached(one) + first
            each += sum(self.inner(exists, first) for exists in one.exists)
            for other in block.disjuncts:
                if other is not one:
                    start = self.first(other)
                    each += self.own(other) + self.of(other.lowers, first + LINE)
                    each += sum(self.inner(exists, start) for exists in other.exists)
            total += each * self.branches(one)
        return total

    def by_least(self, block: Block) -> int:
        """Each disjunct once in a branch, of which there is one a set of tables."""
        lowers = [low for one in block.disjuncts for low in one.lowers]
        branches = len({frozenset(aliases_of(low)) for low in lowers})
        each = self.of(block.select + block.keys) + self.relations(block.tables)
        each += branches * self.of(dict.fromkeys(lowers), INSTANT)
        for one in block.disjuncts:
            each += self.own(one) + self.reached(one) + self.first(one)
        return each * branches

    def by_candidates(self, block: Block) -> int:
        """Each candidate of each disjunct, once for the window and once for what was before."""
        nodes = [*block.select, *block.keys]
        for one in block.disjuncts:
            nodes.extend(expressions_of(one))
        used = source_columns(nodes)
        carried = sum(
            2 * len(name) + LINE for table in block.tables for name in used.get(table.alias, [])
        )
        head = carried + 2 * self.relations(block.tables)
        total = self.of(block.select + block.keys)
        for one in block.disjuncts:
            each = head + self.own(one) + self.reached(one) + self.first(one)
            total += each * self.branches(one)
            for edge in edges(one):
                spend(2 * len(edge.chain), "instants at which a subquery may change")
                last = edge.last
                instant = self.of(last.uppers if edge.rises_at_end else last.lowers)
                each = head + self.own(one) + self.of(one.lowers + one.uppers, instant + LINE)
                for link in edge.chain:
                    each += self.relations(link.tables) + self.own(link)
                each += self.reached(last) + instant
                total += each * (1 if edge.rises_at_end else max(1, self.branches(last)))
            total += sum(self.inner(exists, LINE, head) for exists in one.exists)
        return 2 * total

    # -- pieces -------------------------------------------------------------------------------
    def branches(self, conjunction: Conjunction) -> int:
        """How many branches its lower bounds make."""
        return max(1, len(drop_redundant_bounds(conjunction.lowers, self.order)))

    def own(self, conjunction: Conjunction) -> int:
        """Its conditions, and that its interval is not empty."""
        lowers, uppers = conjunction.lowers, conjunction.uppers
        pairs = self.of(lowers) * len(uppers) + self.of(uppers, 0) * len(lowers)
        return self.of(conjunction.conditions) + pairs

    def reached(self, conjunction: Conjunction) -> int:
        """That its lower bounds lie before some instant, and one of them after another."""
        return self.of(conjunction.lowers, INSTANT + LINE) + INSTANT

    def first(self, conjunction: Conjunction) -> int:
        """The greatest of its lower bounds."""
        return self.of(drop_redundant_bounds(conjunction.lowers, self.order), 2)

    def inner(self, exists: Exists, instant: int, head: int = 0) -> int:
        """``[NOT] EXISTS`` at an instant; ``head``: what a nested one carries along."""
        inner = exists.inner
        text = 2 * RELATION + self.relations(inner.tables) + self.of(inner.conditions)
        text += self.of(inner.lowers + inner.uppers, instant + LINE)
        text += head * bool(inner.exists)
        return text + sum(self.inner(one, instant, head) for one in inner.exists)

    def relations(self, tables: tuple[Table, ...]) -> int:
        """Tables in FROM: a table by value is written out."""
        total = 0
        for table in tables:
            total += RELATION + 2 * len(table.alias) + self.of(on_of(table) or ())
            if isinstance(table, ValueTable):
                total += self.universe(table)
        return total

    def universe(self, table: ValueTable) -> int:
        """All that a table by value may hold."""
        if id(table) not in self.known:
            total = 0
            for arm in table.universe:
                for one in to_standard_form(arm).disjuncts:
                    total += self.of(arm.select) + self.of(one.conditions)
                    total += self.reached(one) + self.relations(one.tables)
            self.known[id(table)] = (table, total)
        return self.known[id(table)][1]
