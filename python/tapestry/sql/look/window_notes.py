"""Notes on the ranges that a window gives to tables, and why, which ``explain`` shows above Q^I.

Ranges of time come from the window over a chain of conditions and assumptions; other ranges from
what a run measures of its few rows, which are not known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from tapestry.quoting import remark
from tapestry.sql.arms import OuterArm
from tapestry.sql.branches.frame import Frame, greater
from tapestry.sql.branches.net import Edge, Node, edges_in
from tapestry.sql.branches.selects import on_of
from tapestry.sql.branches.split_by_bound import narrowing, split_by_bound
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.facts.fixed_lengths import base_and_offset
from tapestry.sql.ir import Conjunction, Table
from tapestry.sql.planner.measure_narrowed import BranchRows
from tapestry.sql.statement.text import TAU, T

Told = tuple[Edge, str]
"""An edge of the net of orders, and what says so."""


def window_notes(
    arms: Iterable[OuterArm], asked: Iterable[BranchRows], frame: Frame
) -> tuple[str, ...]:
    """A line for each range of time that a branch gives a table, and for what a run measures."""
    blocks = [block for arm in arms for block in arm.blocks]
    found = [
        line
        for block in blocks
        if strategy_for(block).by_branches
        for conjunction in block.disjuncts
        for line in _of_time(conjunction, frame, strategy_for(block).at_bounds)
    ]
    found += [_of_measured(one) for one in asked if one.ends]
    return tuple(dict.fromkeys(map(_shown, found)))


def _of_time(conjunction: Conjunction, frame: Frame, at_bounds: bool) -> Iterator[str]:
    """Yield notes on the ranges of a conjunction's tables, and of its subqueries' ``at_bounds``."""
    here = frame.within(conjunction.conditions, conjunction.tables)
    inner = [one.inner for one in conjunction.exists if at_bounds]
    for branch in split_by_bound(conjunction.lowers, here):
        if branch.narrowed is None:
            continue
        yield from _ranges(branch.narrowed, conjunction.conditions, conjunction.tables, (), frame)
        for one in inner:
            both = (*conjunction.conditions, *one.conditions)
            yield from _ranges(branch.narrowed, both, conjunction.tables, one.tables, frame)


def _ranges(
    bound: exp.Expr,
    conditions: Sequence[exp.Expr],
    around: tuple[Table, ...],
    inner: tuple[Table, ...],
    frame: Frame,
) -> Iterator[str]:
    assert frame.tau is not None
    here = frame.within(conditions, (*around, *inner))
    told = list(_told(conditions, (*around, *inner), frame))
    start = here.order.node_of(base_and_offset(bound, here.order.zone)[0])
    for table in inner or around:
        for condition in narrowing(bound, {table.alias}, here) if on_of(table) is None else ():
            way = way_between(start, here.order.node(table.alias), told)
            because = [greater(bound, frame.tau).sql("spark"), *way]
            yield f"{condition.sql('spark')}   follows from   {' AND '.join(because)}"


def _told(conditions: Iterable[exp.Expr], tables: Iterable[Table], frame: Frame) -> Iterator[Told]:
    """Yield the edges of the net of instants, each with its condition or assumption."""
    order, joined = frame.order, tuple(tables)
    for condition in conditions:
        text = condition.sql("spark")
        yield from ((edge, text) for edge in edges_in([condition], order.zone))
    for known in order.assumptions:
        alone = replace(order, assumptions=(known,)).within((), joined)
        for (one, other), length in alone.net.least.items():
            yield (one, other, length), f"assume {known.text}"


def way_between(start: Node, end: Node, told: Iterable[Told]) -> list[str]:
    """Return the texts that together bound how long ``start`` is after ``end`` (Bellman-Ford)."""
    edges = list(told)
    best: dict[Node, tuple[int, tuple[str, ...]]] = {start: (0, ())}
    for _ in range(len({node for (one, other, _), _ in edges for node in (one, other)})):
        for (one, other, length), text in edges:
            if one not in best:
                continue
            far, way = best[one]
            if other not in best or far + length < best[other][0]:
                best[other] = far + length, (*way, text)
    return list(dict.fromkeys(best[end][1])) if end in best else []


def _of_measured(asked: BranchRows) -> str:
    """Return a note on the columns whose least and greatest values a run measures, and the rows."""
    alias = asked.tables[0].alias
    columns = ", ".join(f"{alias}.{name}" for name, _ in asked.ends)
    rows = " AND ".join(one.sql("spark") for one in asked.conditions)
    return (
        f"least and greatest {columns}   are measured where   {rows}"
        "   and bound what they are chained to"
    )


def _shown(line: str) -> str:
    for mark, name in ((TAU, ":tau"), (T, ":t")):
        line = line.replace(f"CAST('{mark}' AS TIMESTAMP)", name)
    return remark(line)
