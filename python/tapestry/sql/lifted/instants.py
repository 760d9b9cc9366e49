"""The cases of an arm that is evaluated at instants: the instants of its events, by key."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.split_by_bound import by
from tapestry.sql.facts.blocks import conjuncts
from tapestry.sql.facts.bounds_of_time import comparisons_in
from tapestry.sql.facts.solve_comparison import solve_comparison
from tapestry.sql.ir import And, Formula, Lower, SourceTable, Upper
from tapestry.sql.lift.cases import AT, Visible
from tapestry.sql.lifted.events import Events
from tapestry.sql.lifted.find_opens import compares_alone


class Instants:
    """The instants of the events of one arm; a use that a key covers has those of its key."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.ranges = _ranges_of(events.arm.tree, events.evaluated)

    def every(self, alias: str) -> exp.Table:
        """The instants of events, each once."""
        return self.events.instants(alias)

    def in_every_case(self, table: SourceTable) -> bool:
        """Return False: there are no more rows of one than the keys of the instants need."""
        return False

    def visible(self, table: SourceTable, alias: str) -> Visible:
        """The instants at which rows of a use are there: they have arrived and not ended."""
        at = exp.column(AT, table=alias)
        on: list[exp.Expr] = []
        where = [one.copy() for one in self.ranges.get(table.alias, [])]
        if table.appended:
            arrival = exp.column(ARRIVAL, table=table.alias)
            where.append(exp.LTE(this=arrival.copy(), expression=self.events.frame.t.copy()))
            on.append(exp.LTE(this=arrival, expression=at.copy()))
        if table.ends:
            on.append(exp.LT(this=at.copy(), expression=exp.column(ENDED, table=table.alias)))
        values = self.events.arm.keys.get(table.alias, ())
        cases = self.events.of(alias) if values else self.events.instants(alias)
        for value, key in zip(values, self.events.columns(alias), strict=False):
            on.append(exp.NullSafeEQ(this=value.copy(), expression=key))
        return Visible(cases, on, where)


def _ranges_of(tree: exp.Query, frame: Frame) -> dict[str, list[exp.Expr]]:
    """Return, by alias of a table, the conditions on its rows that WHERE implies in the window.

    ``frame``: the instants that are evaluated; without its begin none is bounded from below.
    """
    found: dict[str, list[exp.Expr]] = {}
    for select in tree.find_all(exp.Select):
        where = select.args.get("where")
        if where is None:
            continue
        tables = {one.alias for one in select.find_all(exp.Table) if one.parent_select is select}
        for part in conjuncts(where.this):
            if not compares_alone(part):
                continue
            for comparison in comparisons_in(part):
                solution = solve_comparison(comparison, frame.order.zone)
                for condition in _implied(solution.true, frame):
                    aliases = {column.table for column in condition.find_all(exp.Column)}
                    if len(aliases) == 1 and aliases <= tables:
                        found.setdefault(aliases.pop(), []).append(condition)
    return found


def _implied(formula: Formula, frame: Frame) -> Iterator[exp.Expr]:
    if isinstance(formula, And):
        for part in formula.parts:
            yield from _implied(part, frame)
    elif isinstance(formula, Lower):
        yield by(formula.bound, frame.t, exp.LTE, frame.order)
    elif isinstance(formula, Upper) and frame.tau is not None:
        yield by(formula.bound, frame.tau, exp.GT, frame.order)
