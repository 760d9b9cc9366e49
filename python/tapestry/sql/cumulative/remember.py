"""What is kept of groups from one run to the next: the memory of a model of running states.

ARGUS's incremental aggregation: statistics that suffice to go on, here as differences. Each run
adds what its window changes of each group; added up they are the states at its end. A group's row:

    part 'p1'       arm 1: p1_k1 … (the key), p1_s1 … (the states)
    part 'p1_d2'    of DISTINCT over a row's column 2: p1_k1 …, p1_a1 (the value), p1_n (how often)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.cumulative.running import COUNTED, PART, Running
from tapestry.sql.ir import Block, Lifted
from tapestry.sql.lifted.events import Ctes
from tapestry.sql.lifted.render_lifted import LiftedPlace
from tapestry.sql.write import build

Row = dict[str, exp.Expr]
"""The columns that a row of the memory has; the others are NULL."""


@dataclass(frozen=True)
class Kept:
    """An arm whose groups are kept, and where it is rendered."""

    arm: Lifted
    blocks: tuple[Block, ...]
    place: LiftedPlace

    @property
    def running(self) -> Running:
        """Its groups."""
        assert self.arm.sums is not None
        return Running(self.arm.sums, self.blocks, self.place)


def remember(kept: Sequence[Kept]) -> tuple[exp.Query, Ctes]:
    """What the window changes of the groups of all arms, and its CTEs; since ever, all there is."""
    selects = [one for arm in kept for one in _selects(arm.running)]
    names = list(dict.fromkeys(name for row, _ in selects for name in row))
    for row, select in selects:
        listed = [exp.alias_(row.get(name, exp.null()), name) for name in names]
        select.set("expressions", listed)
    ctes: Ctes = []
    for arm in kept:
        if arm.place.frame.tau is not None:
            ctes += arm.running.ctes()
    return build.union_all([select for _, select in selects]), ctes


def _selects(running: Running) -> Iterator[tuple[Row, exp.Select]]:
    """The columns of the rows of each part, and a SELECT of them, which lists none yet."""
    prefix, frame = running.place.prefix, running.place.frame
    key = running.key("_r")
    keys = {f"{prefix}_{one.name[1:]}": one for one in key}
    select = exp.Select()
    if frame.tau is None:
        build.add_from(select, build.subquery(running.holding(frame.t), "_r"))
        states = [running.of_rows(state, "_r") for state in running.sums.states]
    else:
        build.add_from(select, build.table(running.name("steps"), "_r"))
        states = [running.together(n, "_r") for n in running.numbers()]
    if key:
        select.set("group", exp.Group(expressions=[one.copy() for one in key]))
    numbered = {f"{prefix}_s{n}": state for n, state in enumerate(states, start=1)}
    yield {PART: exp.Literal.string(prefix), **keys, **numbered}, select
    for value in running.distinct:
        yield _counted(running, value, keys)


def _counted(running: Running, value: int, keys: Row) -> tuple[Row, exp.Select]:
    """Of how many rows each value is the argument."""
    prefix, frame = running.place.prefix, running.place.frame
    argument, select = running.argument(value, "_r"), exp.Select()
    if frame.tau is None:
        build.add_from(select, build.subquery(running.holding(frame.t), "_r"))
        counted: exp.Expr = exp.Count(this=exp.Star(), big_int=True)
        there = exp.Not(this=exp.Is(this=argument.copy(), expression=exp.null()))
        build.add_where(select, [there])
    else:
        build.add_from(select, build.table(running.name(f"d{value}_n"), "_r"))
        counted = exp.Sum(this=exp.column(COUNTED, table="_r"))
    grouped = [*running.key("_r"), argument.copy()]
    select.set("group", exp.Group(expressions=grouped))
    columns = {f"{prefix}_{argument.name[1:]}": argument, f"{prefix}_n": counted}
    part = exp.Literal.string(f"{prefix}_d{value}")
    return {PART: part, **{n: k.copy() for n, k in keys.items()}, **columns}, select
