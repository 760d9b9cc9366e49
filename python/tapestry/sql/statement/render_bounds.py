"""Renders the bounds at which time alone may bring an answer, as SELECTs of one instant each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from tapestry.names import ARRIVAL
from tapestry.sql import timing
from tapestry.sql.arms import Lifted
from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.frame import greater
from tapestry.sql.branches.selects import aliases_of, where
from tapestry.sql.branches.split_by_bound import by
from tapestry.sql.facts.arrivals import TIME_BEGINS, match_ends, match_starts, moving
from tapestry.sql.facts.walk import tables_of
from tapestry.sql.ir import Table
from tapestry.sql.statement.render import Rendering
from tapestry.sql.statement.text import Body
from tapestry.sql.write import build


def render_bounds(rendering: Rendering) -> tuple[Body, ...]:
    """One SELECT for each bound that may start an answer after T without a new row.

    Those are the lower bounds, the starts of inner intervals at positive polarity and the ends at
    negative polarity; and where an arm is evaluated at instants, each of those that no row brings.
    A bound over one table is looked up there; of one over several tables
    nothing is known beforehand, so that it counts as due at once.
    """
    bodies: dict[str, Body] = {}
    for tables, bounds in _starting(rendering):
        for bound in bounds:
            body = rendering.body([], _due(rendering, tables, bound))
            bodies[body.query] = body
    return tuple(bodies.values())


def _due(rendering: Rendering, tables: Sequence[Table], bound: exp.Expr) -> exp.Select:
    """The least value of a bound after T."""
    frame = rendering.frame()
    aliases = aliases_of(bound)
    if not aliases or bound.find(exp.Query) is not None:
        # The model's begin, or that of time: the first row may have been loaded before it arrives.
        later = exp.If(this=greater(bound, frame.t), true=bound.copy(), false=exp.Null())
        return build.select([exp.alias_(later, "due")])
    if len(aliases) > 1:
        return build.select([exp.alias_(frame.t.copy(), "due")])
    owners = {t.alias: t for t in tables if t.alias in aliases}
    query = build.select([exp.alias_(exp.Min(this=bound.copy()), "due")])
    query = rendering.reads().from_clause(query, tuple(owners.values()), frame)
    return where(query, [by(bound, frame.t, exp.GT, frame.order)])


def _starting(
    rendering: Rendering,
) -> Iterator[tuple[Sequence[Table], Sequence[exp.Expr]]]:
    for arm in rendering.arms:
        if isinstance(arm, Lifted):
            begin = rendering.begin
            yield (), (TIME_BEGINS if begin is None else timing.literal(begin),)
            for table in arm.tables:
                if table.appended:  # a row may be loaded before it arrives
                    yield (table,), (exp.column(ARRIVAL, table=table.alias),)
            for change in arm.changes:
                yield change.tables, (change.bound,)
        for block in arm.blocks:
            for conjunction in block.disjuncts:
                tables = tuple(tables_of(conjunction))
                yield tables, conjunction.lowers
                for table in moving(conjunction.tables):
                    yield tables, (*match_starts(table), *match_ends(table))
                for edge in edges(conjunction):
                    last = edge.last
                    yield tables, last.uppers if edge.rises_at_end else last.lowers
