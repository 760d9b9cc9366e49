"""The cases of an arm that is evaluated at instants: the instants of its events, by key."""

from __future__ import annotations

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT, Visible
from tapestry.sql.lifted.events import Events
from tapestry.sql.lifted.ranges import ranges_of


class Instants:
    """The instants of the events of one arm; a use that a key covers has those of its key."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.ranges = ranges_of(events.arm.tree, events.evaluated)

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
