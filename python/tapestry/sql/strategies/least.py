"""Strategies 1 and 2 for many disjuncts: the least start over all of them, computed once.

    s0 = LEAST(CASE WHEN P_1 and its interval is not empty THEN GREATEST(its lower bounds) END, …)

``strategy_bounds`` compares each disjunct with all others, in each of its branches: that is short
for a few and grows with their square.  Here each is written once a branch.  LEAST skips NULLs,
which is what a disjunct that does not hold must be; a NULL lower bound fails ``L <= t``, so that
no GREATEST skips one.

A derivation is new iff ``tau < s0 <= t``.  Then some lower bound lies after tau: the branches ask
that of the bounds over one table (or one set of tables) after the other, so that each narrows a
scan; they are disjoint, and together complete.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.names import MATCHED_AT
from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame, at_most, greater, greatest, least
from tapestry.sql.branches.selects import Reads, aliases_of, non_empty, not_holding, where
from tapestry.sql.branches.split_by_bound import (
    Branch,
    by,
    drop_redundant_bounds,
)
from tapestry.sql.ir import Block, Conjunction
from tapestry.sql.planner.narrowed_first import narrowed_first
from tapestry.sql.strategies.sizes import INSTANT, Sizes
from tapestry.sql.write import build


def without_subqueries(block: Block) -> bool:
    """Return whether only a derivation's own rows decide when it holds."""
    return not any(conjunction.exists for conjunction in block.disjuncts)


def select_by_least(
    block: Block, columns: tuple[str, ...], frame: Frame, reads: Reads
) -> list[exp.Select]:
    """Disjoint selects of the derivations of a block without subqueries that are new."""
    shared = _shared(block)
    starts = tuple(_start(one, shared, frame) for one in block.disjuncts)
    selects = []
    for branch in _branches(block, frame):
        listed = [
            build.named(timing.as_of(value, least(starts)), name)
            for value, name in zip(block.select, columns, strict=True)
        ]
        listed.append(exp.alias_(least(starts), MATCHED_AT))
        conditions = [*shared, *branch.conditions]
        tables = narrowed_first(block.tables, branch, conditions, frame)
        inner = where(reads.from_clause(build.select(listed), tables, frame), conditions)
        alias = exp.TableAlias(this=exp.to_identifier("_f"))
        first = exp.column(MATCHED_AT, table="_f")
        outer = [build.column(name, "_f") for name in columns]
        select = build.add_from(
            build.select([*outer, first.copy()]), exp.Subquery(this=inner, alias=alias)
        )
        window = [] if frame.tau is None else [greater(first, frame.tau)]
        selects.append(where(select, [*window, at_most(first, frame.t)]))
    return selects


def size_by_least(block: Block, sizes: Sizes) -> int:
    """Return the size: each disjunct once in a branch, and one branch for each set of tables."""
    lowers = [low for one in block.disjuncts for low in one.lowers]
    branches = len({frozenset(aliases_of(low)) for low in lowers})
    each = sizes.of(block.select + block.keys) + sizes.relations(block.tables)
    each += branches * sizes.of(dict.fromkeys(lowers), INSTANT)
    for one in block.disjuncts:
        each += sizes.own(one) + sizes.reached(one) + sizes.first(one)
    return each * branches


def _shared(block: Block) -> list[exp.Expr]:
    """The conditions that stand in every disjunct: they may stand beside all, and join tables."""
    first, *others = block.disjuncts
    sets = [set(other.filters) for other in others]
    return [one for one in first.filters if all(one in conditions for conditions in sets)]


def _start(conjunction: Conjunction, shared: list[exp.Expr], frame: Frame) -> exp.Expr:
    """The start of a disjunct up to t; NULL where it holds at no instant, or begins later."""
    conditions = [one for one in conjunction.conditions if one not in shared]
    conditions += [by(low, frame.t, exp.LTE, frame.order) for low in conjunction.lowers]
    conditions += non_empty(conjunction)
    here = frame.within(conjunction.conditions, conjunction.tables)
    start = greatest(drop_redundant_bounds(conjunction.lowers, here.order))
    return exp.Case(ifs=[exp.If(this=_all(conditions), true=start)])


def _all(conditions: list[exp.Expr]) -> exp.Expr:
    tree = where(exp.Select(), conditions).args.get("where")
    return exp.true() if tree is None else tree.this


def _branches(block: Block, frame: Frame) -> list[Branch]:
    """``some lower bound over these tables > tau, none over the tables before``."""
    if frame.tau is None:
        return [Branch(None, ())]
    groups: dict[frozenset[str], dict[exp.Expr, None]] = {}
    for conjunction in block.disjuncts:
        here = frame.within(conjunction.conditions, conjunction.tables)
        for low in drop_redundant_bounds(conjunction.lowers, here.order):
            later = by(low, frame.tau, exp.GT, frame.order)
            groups.setdefault(frozenset(aliases_of(low)), {})[later] = None
    branches = []
    before: list[exp.Expr] = []
    for later_ones in groups.values():
        some = _any(list(later_ones))
        branches.append(Branch(some, (some, *before)))
        before.append(not_holding([some]))
    return branches


def _any(conditions: list[exp.Expr]) -> exp.Expr:
    together = conditions[0]
    for condition in conditions[1:]:
        together = exp.Or(this=together, expression=condition)
    return together
