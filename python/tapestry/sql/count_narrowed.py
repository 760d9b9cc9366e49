"""How many rows each branch narrows its source to: a fact about the data, asked before rendering.

Delta prunes files by their statistics, but Spark plans a join by the size of the whole table: it
would sort and shuffle everything that the few new rows are joined to.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql import build
from tapestry.sql.ir import Conjunction, Table
from tapestry.sql.join_few import AT_MOST
from tapestry.sql.passes.split_by_bound import narrowed_aliases, own_conditions, split_by_bound
from tapestry.sql.render import Body, Rendering
from tapestry.sql.selects import where
from tapestry.sql.strategy_candidates import edges


def count_narrowed(rendering: Rendering) -> Body | None:
    """A SELECT of the greatest number of rows that a branch narrows a table to; None: no branch.

    Where what they are joined to is sent on too (``join_few``), it is reckoned by their number.
    """
    frame, reads = rendering.frame(), rendering.reads()
    counts: dict[exp.Select, None] = {}
    for conjunction, tables in _split(rendering):
        for branch in split_by_bound(conjunction.lowers, frame):
            aliases = narrowed_aliases(branch)
            narrowed = tuple(table for table in tables if table.alias in aliases)
            if not narrowed or len(tables) == 1:
                continue  # nothing is joined to it
            rows: exp.Expr = exp.Count(this=exp.Star(), big_int=True)
            if further := max(0, len(conjunction.tables) - 2):
                rows = exp.Mul(this=rows, expression=exp.Literal.number(AT_MOST**further))
            count = exp.alias_(rows, "narrowed")
            select = reads.from_clause(build.select([count]), narrowed, frame)
            counts[where(select, own_conditions(conjunction.conditions, branch, aliases))] = None
    if not counts:
        return None
    every = exp.Subquery(this=build.union_all(list(counts)), alias=exp.TableAlias(this="counts"))
    most = exp.alias_(exp.Max(this=exp.column("narrowed")), "narrowed")
    return rendering.body([], build.add_from(build.select([most]), every))


def _split(rendering: Rendering) -> Iterator[tuple[Conjunction, tuple[Table, ...]]]:
    """Every conjunction whose bounds are split, with all that its tables are joined to."""
    for part in rendering.parts:
        for block in part.blocks:
            for conjunction in block.disjuncts:
                inner = tuple(table for one in conjunction.exists for table in one.inner.tables)
                yield conjunction, conjunction.tables + inner
                for edge in edges(conjunction):
                    if not edge.rises_at_end:
                        chain = tuple(table for link in edge.chain for table in link.tables)
                        yield edge.last, chain + conjunction.tables
