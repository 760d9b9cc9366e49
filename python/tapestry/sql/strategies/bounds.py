"""Strategies 1 and 2: the first instant of a disjunct is ``c = max(lowers)``, or it has none.

1. no subquery: ``s0 = c``.
2. NOT EXISTS whose inner rows never expire: once false it stays false, so ``s0 = c``, kept iff no
   inner row starts at or before c (the paper's section 4.3, exact at ties).
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.names import MATCHED_AT
from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame, at_most, greatest, less
from tapestry.sql.branches.selects import Reads, non_empty, not_holding
from tapestry.sql.branches.split_by_bound import (
    Branch,
    drop_redundant_bounds,
    narrowing,
    split_by_bound,
    with_rows,
)
from tapestry.sql.ir import Block, Conjunction
from tapestry.sql.planner.join_few import select_of_few
from tapestry.sql.planner.keys_of_few import keys_of_few, look_up_few, only_keys_of
from tapestry.sql.planner.measured_ranges import (
    look_up_measured,
    ranges_of_absent,
    ranges_of_tables,
    texts,
)
from tapestry.sql.planner.narrowed_first import narrowed_first
from tapestry.sql.strategies.sizes import LINE, Sizes
from tapestry.sql.work import spend
from tapestry.sql.write import build


def fits_bounds(block: Block) -> bool:
    """Return whether all subqueries of the block are NOT EXISTS over rows that never end."""
    return all(
        exists.negated and not exists.inner.uppers and not exists.inner.exists
        for conjunction in block.disjuncts
        for exists in conjunction.exists
    )


def select_by_bounds(
    block: Block, columns: tuple[str, ...], frame: Frame, reads: Reads
) -> list[exp.Select]:
    """Disjoint selects of the derivations whose first instant lies in the frame's window."""
    selects = []
    for i, conjunction in enumerate(block.disjuncts):
        here = frame.within(conjunction.conditions, conjunction.tables)
        branches = split_by_bound(conjunction.lowers, here)
        for branch in with_rows(branches, conjunction.filters, frame.measured):
            kept = drop_redundant_bounds(conjunction.lowers, here.order)
            first = greatest(kept)
            conditions = [*conjunction.filters, *branch.conditions, *non_empty(conjunction)]
            aliases = {table.alias for table in conjunction.tables}
            if branch.narrowed is not None:
                conditions += narrowing(branch.narrowed, aliases, here)
            measured = texts(ranges_of_tables(conjunction, branch, frame))
            conditions += measured
            conditions += keys_of_few(block, conjunction, branch, frame, reads, measured)
            conditions += _absent(conjunction, first, frame, reads, branch)
            conditions += _no_earlier(block, i, first, frame, reads)
            listed = [
                build.named(timing.as_of(value, first), name)
                for value, name in zip(block.select, columns, strict=True)
            ]
            listed.append(exp.alias_(first.copy(), MATCHED_AT))
            tables = narrowed_first(conjunction.tables, branch, conditions, here)
            tables = look_up_few(tables, conjunction.filters, branch, frame, reads)
            tables = look_up_measured(tables, conjunction.filters, branch, frame)
            selects.append(select_of_few(listed, tables, conditions, branch, frame, reads))
    return selects


def size_by_bounds(block: Block, sizes: Sizes) -> int:
    """Return the size of the SQL: each disjunct in branches, each compared with all others."""
    total = 0
    spend(len(block.disjuncts) ** 2, "pairs of alternatives")
    for one in block.disjuncts:
        first = sizes.first(one)
        each = sizes.of(block.select + block.keys) + sizes.relations(one.tables)
        each += sizes.own(one) + sizes.reached(one) + first
        each += sum(sizes.inner(exists, first) for exists in one.exists)
        for other in block.disjuncts:
            if other is not one:
                start = sizes.first(other)
                each += sizes.own(other) + sizes.of(other.lowers, first + LINE)
                each += sum(sizes.inner(exists, start) for exists in other.exists)
        total += each * sizes.branches(one)
    return total


def _absent(
    conjunction: Conjunction,
    first: exp.Expr,
    frame: Frame,
    reads: Reads,
    branch: Branch | None,
) -> list[exp.Expr]:
    """Return NOT EXISTS of an inner row that starts at or before the first instant."""
    absent = []
    for exists in conjunction.exists:
        started = [at_most(low, first) for low in exists.inner.lowers]
        if branch is not None and branch.narrowed is not None:
            inner = exists.inner
            aliases = {table.alias for table in inner.tables}
            both = (*conjunction.conditions, *inner.conditions)
            here = frame.within(both, (*conjunction.tables, *inner.tables))
            started += narrowing(branch.narrowed, aliases, here)
            started += texts(ranges_of_absent(conjunction, inner, branch, frame))
            started += only_keys_of(conjunction, branch, exists, frame, reads)
        absent.append(reads.exists(exists, frame, started))
    return absent


def _no_earlier(
    block: Block, index: int, first: exp.Expr, frame: Frame, reads: Reads
) -> list[exp.Expr]:
    """Return conditions that no other disjunct starts earlier, or at once and is listed before."""
    others = []
    for k, other in enumerate(block.disjuncts):
        if k == index:
            continue
        compare = at_most if k < index else less
        there = frame.within(other.conditions, other.tables)
        starts = drop_redundant_bounds(other.lowers, there.order)
        conditions = [*other.conditions, *non_empty(other)]
        conditions += [compare(low, first) for low in other.lowers]
        conditions += _absent(other, greatest(starts), frame, reads, None)
        others.append(not_holding(conditions))
    return others
