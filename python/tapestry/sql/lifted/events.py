"""The instants at which an arm is evaluated, for each key: aggregates, sections 2 and 3.

    events     (key, instant): where something of the rows of a key may change
    keys       every key of a covered use: what no key is said of may change for all of them
    affected   the keys with an event in the window, where earlier instants count, too
    instants   the instants of events alone: over them the uses are read that no key covers

With K = () events are instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.arms import Lifted
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.split_by_bound import by
from tapestry.sql.facts.arrivals import TIME_BEGINS
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT
from tapestry.sql.write import build

KEY_PLACE = "_key"
"""Qualifies a column that stands for the component of a key whose number is its name."""
Ctes = list[tuple[str, exp.Query]]


@dataclass(frozen=True)
class _Source:
    """An origin of events: rows of tables, the columns that give the key, and the instant."""

    tables: tuple[SourceTable, ...]
    at: exp.Expr
    key: tuple[exp.Expr, ...] | None = None
    conditions: tuple[exp.Expr, ...] = ()


@dataclass
class Events:
    """The events of an arm over one window.

    ``reads``: source -> the CTE that applies its scan; ``prefix`` begins the names of the CTEs;
    ``at_begin``: the instant at which the query began to count is one, though before the window.
    """

    arm: Lifted
    frame: Frame
    reads: Mapping[str, str]
    prefix: str
    begin: exp.Expr | None
    at_begin: bool = False
    asked: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """The number of components of a key."""
        return max((len(columns) for columns in self.arm.keys.values()), default=0)

    @property
    def evaluated(self) -> Frame:
        """A window that all of its instants lie in; without a begin where some may lie before."""
        frame = self.frame
        since_ever = self.arm.by_rows or self.at_begin
        return Frame(None, frame.t, frame.order) if since_ever else frame

    def columns(self, alias: str) -> list[exp.Expr]:
        """The key in a row of events."""
        return [exp.column(f"_k{n}", table=alias) for n in range(1, self.size + 1)]

    def of(self, alias: str) -> exp.Table:
        """The events, by key and instant."""
        return build.table(f"{self.prefix}_events", alias)

    def instants(self, alias: str) -> exp.Table:
        """The instants of events, each once."""
        if not self.size:
            return self.of(alias)
        self.asked.add("instants")
        return build.table(f"{self.prefix}_instants", alias)

    # -- CTEs ---------------------------------------------------------------------------------
    def ctes(self) -> Ctes:
        """The CTEs, once all that reads them is written."""
        sources = list(self.sources())
        if self.arm.by_rows and self.frame.tau is not None and self.size:
            changed = build.subquery(self.distinct(sources, self.frame), "_c")
            affected = build.add_from(build.select(self.columns("_c")), changed)
            affected.set("distinct", exp.Distinct())
            every = self.distinct(sources, Frame(None, self.frame.t, self.frame.order))
            found: Ctes = [
                (f"{self.prefix}_affected", affected),
                (f"{self.prefix}_events", self.among_affected(every)),
            ]
        else:
            frame = self.frame
            if self.arm.by_rows:
                frame = Frame(None, frame.t, frame.order)
            found = [(f"{self.prefix}_events", self.distinct(sources, frame))]
        if "instants" in self.asked:
            query = build.add_from(build.select([exp.column(AT, table="_e")]), self.of("_e"))
            query.set("distinct", exp.Distinct())
            found.append((f"{self.prefix}_instants", query))
        if "keys" in self.asked:
            found.insert(0, (f"{self.prefix}_keys", self.every_key()))
        return found

    def among_affected(self, events: exp.Query) -> exp.Query:
        """The events of affected keys."""
        inner = build.subquery(events, "_v")
        query = build.select([*self.columns("_v"), exp.column(AT, table="_v")])
        build.add_from(query, inner)
        same = build.same(self.columns("_v"), self.columns("_a"))
        affected = build.add_from(build.select_one(), build.table(f"{self.prefix}_affected", "_a"))
        return build.add_where(query, [exp.Exists(this=build.add_where(affected, same))])

    def every_key(self) -> exp.Query:
        """Every key of a covered use."""
        selects: dict[str, exp.Query] = {}
        for table in self.arm.tables:
            if table.alias in self.arm.keys:
                query = build.select(self.key_of(table.alias, table.alias))
                build.add_from(query, build.table(self.reads[table.source], table.alias))
                selects.setdefault(query.sql().replace(table.alias, ""), query)
        inner = build.subquery(build.union_all(list(selects.values())), "_e")
        query = build.add_from(build.select(self.columns("_e")), inner)
        query.set("distinct", exp.Distinct())
        return query

    def key_of(self, use: str, alias: str) -> list[exp.Expr]:
        """The key in a row of a covered use."""
        return [
            exp.alias_(_moved(value, alias), f"_k{n}")
            for n, value in enumerate(self.arm.keys[use], start=1)
        ]

    # -- where events come from -----------------------------------------------------------------
    def sources(self) -> Iterator[_Source]:
        """Yield the origins: arrivals, ends, bounds of comparisons with now(), begin of time."""
        for table in self.arm.tables:
            key = self.key(table.alias, table.alias)
            if table.appended:
                yield _Source((table,), exp.column(ARRIVAL, table=table.alias), key)
            if table.ends:
                yield _Source((table,), exp.column(ENDED, table=table.alias), key)
        for change in self.arm.changes:
            said = (
                self.key(use, table.alias)
                for use, table in zip(change.uses, change.tables, strict=True)
            )
            key = next((one for one in said if one is not None), self.key("", ""))
            yield _Source(change.tables, change.bound, key, change.conditions)
        if self.begin is not None or not self.begins_with_rows:
            yield _Source((), self.start(), self.key("", ""))

    def key(self, use: str, alias: str) -> tuple[exp.Expr, ...] | None:
        """Return the key in a row; None if there are keys and the row has none."""
        if not self.size:
            return ()
        return tuple(self.key_of(use, alias)) if use in self.arm.keys else None

    @property
    def begins_with_rows(self) -> bool:
        """Whether nothing holds before a row arrives, and then only for its key."""
        return bool(self.size) and all(
            table.appended for table in self.arm.tables if table.alias in self.arm.keys
        )

    def start(self) -> exp.Expr:
        """The first instant of interest."""
        return TIME_BEGINS.copy() if self.begin is None else self.begin.copy()

    def distinct(self, sources: Sequence[_Source], frame: Frame) -> exp.Query:
        """The events in a window, each once."""
        found: dict[str, exp.Query] = {}
        for source in sources:
            query = self.select(source, frame)
            found.setdefault(query.sql(), query)
        every = build.subquery(build.union_all(list(found.values())), "_e")
        at = exp.column(AT, table="_e")
        query = build.add_from(build.select([*self.columns("_e"), at]), every)
        query.set("distinct", exp.Distinct())
        opened = [
            exp.GTE(this=at.copy(), expression=self.over_key(bound)) for bound in self.arm.opens
        ]
        return build.add_where(query, opened)

    def over_key(self, bound: exp.Expr) -> exp.Expr:
        """A bound over the key, in a row of events."""

        def named(node: exp.Expr) -> exp.Expr:
            return exp.column(f"_k{node.name}", table="_e") if _is_place(node) else node

        return bound.transform(named)

    def select(self, source: _Source, frame: Frame) -> exp.Select:
        """Return the events of one origin."""
        key = source.key
        if key is None:
            self.asked.add("keys")
            items: list[exp.Expr] = [
                exp.alias_(one, f"_k{n}") for n, one in enumerate(self.columns("_a"), start=1)
            ]
        else:
            items = [one.copy() for one in key]
        query = build.select([*items, exp.alias_(source.at.copy(), AT)])
        for table in source.tables:
            build.add_from(query, build.table(self.reads[table.source], table.alias))
        if key is None:
            build.add_from(query, build.table(f"{self.prefix}_keys", "_a"))
        conditions = [one.copy() for one in source.conditions]
        return build.add_where(query, [*conditions, *self.within(source.at, frame)])

    def within(self, at: exp.Expr, frame: Frame) -> Iterator[exp.Expr]:
        """Yield the conditions that an instant is in a window and not before the first instant."""
        yield by(at, frame.t, exp.LTE, frame.order)
        if frame.tau is not None:
            after = by(at, frame.tau, exp.GT, frame.order)
            if self.at_begin:
                begins = exp.EQ(this=at.copy(), expression=self.start())
                after = exp.Paren(this=exp.Or(this=after, expression=begins))
            yield after
        if (self.begin is not None or not self.begins_with_rows) and at != self.start():
            yield exp.GTE(this=at.copy(), expression=self.start())


def _is_place(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.table == KEY_PLACE


def _moved(value: exp.Expr, alias: str) -> exp.Expr:
    """A value over another use of its table."""
    copy = value.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias))
    return copy
