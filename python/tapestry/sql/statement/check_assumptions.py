"""Counts the pairs of rows that violate the author's assumptions about the order of arrivals.

An assumption removes branches from the incremental query, so a wrong one would lose answers.  Each
run counts the pairs that break it and of which a row arrived in the run's own window, the other not
more than a week before that (in the first run: among all rows), for every place of the query where
both tables meet.  To look further back would cost what the assumption saves; who breaks an order
mostly does so by little.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from sqlglot import exp

from tapestry.sql.branches.frame import Frame, at_most, greater, greatest, less
from tapestry.sql.branches.order import Assumption
from tapestry.sql.branches.selects import where
from tapestry.sql.branches.split_by_bound import shifted, ts_of
from tapestry.sql.facts.arrivals import arrival_of
from tapestry.sql.ir import Conjunction, SourceTable, Table
from tapestry.sql.statement.render import Rendering
from tapestry.sql.statement.text import Body
from tapestry.sql.write import build

BACK = 7 * 24 * 3_600_000_000
"""So many microseconds before the window the other row of a pair may have arrived."""

_Meeting = tuple[tuple[Table, ...], tuple[exp.Expr, ...]]


def check_assumptions(rendering: Rendering) -> tuple[tuple[str, Body], ...]:
    """Pairs of (assumption as written, SELECT of the number of pairs that break it)."""
    frame = rendering.frame()
    checks: list[tuple[str, Body]] = []
    for known in rendering.assumptions:
        bodies = {
            body.query: body
            for meeting in _meetings(rendering)
            for pair in permutations(_grown(meeting[0]), 2)
            if frame.order.speaks(known, pair[0].alias, pair[1].alias)
            for body in [rendering.body([], _count(rendering, meeting, pair, known, frame))]
        }
        checks += [(known.text, body) for body in bodies.values()]
    return tuple(checks)


def _count(
    rendering: Rendering,
    meeting: _Meeting,
    pair: tuple[SourceTable, ...],
    known: Assumption,
    frame: Frame,
) -> exp.Select:
    (tables, conditions), (later, earlier) = meeting, pair
    least = shifted(ts_of(earlier.alias, frame.order), known.offset)
    broken = less(ts_of(later.alias, frame.order), least)
    arrivals = (arrival_of(later), arrival_of(earlier))
    window = [at_most(arrival, frame.t) for arrival in arrivals]
    if frame.tau is not None:
        since = shifted(frame.tau, -BACK)
        window += [greater(arrival, since) for arrival in arrivals]
        window.append(greater(greatest(arrivals), frame.tau))
    select = build.select([exp.alias_(exp.Count(this=exp.Star()), "broken")])
    select = rendering.reads().from_clause(select, tables, frame)
    return where(select, [*conditions, broken, *window])


def _meetings(rendering: Rendering) -> Iterator[_Meeting]:
    """The tables that are joined somewhere, with the conditions that join them."""
    for arm in rendering.arms:
        for block in arm.blocks:
            for conjunction in block.disjuncts:
                yield from _below(conjunction, (), ())


def _below(
    conjunction: Conjunction, tables: tuple[Table, ...], conditions: tuple[exp.Expr, ...]
) -> Iterator[_Meeting]:
    tables += conjunction.tables
    conditions += conjunction.conditions
    yield tables, conditions
    for exists in conjunction.exists:
        yield from _below(exists.inner, tables, conditions)


def _grown(tables: tuple[Table, ...]) -> list[SourceTable]:
    return [table for table in tables if isinstance(table, SourceTable) and table.appended]
