"""The rows whose states are kept: those that begin or end within a window, or hold at its begin.

A row holds on ``[c, d)``, c the latest of its lower bounds, d the earliest of its upper ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from tapestry.sql.branches.frame import Frame, least
from tapestry.sql.branches.selects import Reads, non_empty, valid_at, where
from tapestry.sql.branches.split_by_bound import by
from tapestry.sql.ir import Block, Conjunction
from tapestry.sql.lift.cases import AT
from tapestry.sql.strategies.bounds import select_by_bounds
from tapestry.sql.write import build

WEIGHT = "_w"
"""1 of a row that begins, -1 of one that ends, 0 of none."""


def names_of(block: Block, keys: int) -> tuple[str, ...]:
    """Return the names of a row's columns: ``_k1`` …, then the arguments ``_a1`` …"""
    return tuple(
        f"_k{place}" if place <= keys else f"_a{place - keys}"
        for place in range(1, len(block.select) + 1)
    )


def changing(blocks: Sequence[Block], keys: int, frame: Frame, reads: Reads) -> exp.Query:
    """The rows that begin or end in the window, each with the instant and its weight."""
    selects: list[exp.Query] = []
    for block in blocks:
        names = names_of(block, keys)
        for select in select_by_bounds(block, names, frame, reads):
            select.selects[-1].set("alias", exp.to_identifier(AT))
            selects.append(select.select(exp.alias_(exp.Literal.number(1), WEIGHT), copy=False))
        (conjunction,) = block.disjuncts
        selects += _ending(block, conjunction, names, frame, reads)
    return build.union_all(selects)


def holding(
    blocks: Sequence[Block], keys: int, instant: exp.Expr, frame: Frame, reads: Reads
) -> exp.Query:
    """The rows that hold at an instant."""
    selects: list[exp.Query] = []
    for block in blocks:
        (conjunction,) = block.disjuncts
        select = build.select(_listed(block, names_of(block, keys)))
        reads.from_clause(select, conjunction.tables, frame)
        valid = [*valid_at(conjunction, instant), *non_empty(conjunction)]
        selects.append(where(select, [*conjunction.filters, *valid]))
    return build.union_all(selects)


def ends(blocks: Sequence[Block]) -> bool:
    """Return whether a row may end."""
    return any(conjunction.uppers for block in blocks for conjunction in block.disjuncts)


def _ending(
    block: Block, conjunction: Conjunction, names: tuple[str, ...], frame: Frame, reads: Reads
) -> Iterator[exp.Select]:
    """The rows that end in the window, by which of the upper bounds is the first to be met.

        branch j:  tau < U_j <= t,  U_j < U_i for i < j,  U_j <= U_i for i > j

    Each narrows the table of its bound to a range, as the branches of the lower bounds do.
    """
    uppers = tuple(dict.fromkeys(conjunction.uppers))
    for j, bound in enumerate(uppers):
        conditions = [*conjunction.filters, *non_empty(conjunction)]
        conditions.append(by(bound, frame.t, exp.LTE, frame.order))
        if frame.tau is not None:
            conditions.append(by(bound, frame.tau, exp.GT, frame.order))
        for i, other in enumerate(uppers):
            if i != j:
                compare = exp.LT if i < j else exp.LTE
                conditions.append(compare(this=bound.copy(), expression=other.copy()))
        listed = [*_listed(block, names), exp.alias_(least(uppers), AT)]
        listed.append(exp.alias_(exp.Literal.number(-1), WEIGHT))
        select = reads.from_clause(build.select(listed), conjunction.tables, frame)
        yield where(select, conditions)


def _listed(block: Block, names: Sequence[str]) -> list[exp.Expr]:
    return [
        build.named(value.copy(), name) for value, name in zip(block.select, names, strict=True)
    ]
