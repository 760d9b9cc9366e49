"""The answers of an arm of groups by running states: aggregates, sections 5 and 6.

    changes    the rows that begin or end in the window
    parts      what each of them adds to each state of its group
    before     the states of those groups at the begin of the window
    states     the states at the instant of each part: running sums, all of one instant together
    rows       the select list at each of these instants at which the group is there

A value counts once in DISTINCT: of how many rows it is the argument runs by group and value first,
and where that leaves 0, or comes to it, the state of the group changes (``_d…``). Where no row ever
ends that is the first instant of each value.

Everything is partitioned by the key, so that Spark sends the rows of a window around once; the few
groups of a short window are sent to what is kept of all groups (``Frame.few``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.arms import RunningGroups, State
from tapestry.sql.cumulative.groups import Groups
from tapestry.sql.cumulative.rows import WEIGHT, ends
from tapestry.sql.facts.arrivals import TIME_BEGINS
from tapestry.sql.lift.cases import AT
from tapestry.sql.normalize.running_states import STATES
from tapestry.sql.write import build

DISTINCT = ("distinct", "distinct_sum")
_TOGETHER: Mapping[str, type[exp.Expr]] = {"least": exp.Min, "greatest": exp.Max}
"""Kind of state -> the aggregate over the states of several sets of rows; for others, the sum."""
COUNTED = "_n"
"""The column with the number of rows of which a value is the argument."""


@dataclass(frozen=True)
class Running(Groups):
    """The groups of one arm at a place, by their states."""

    arm: RunningGroups

    def ctes(self) -> Iterator[tuple[str, exp.Query]]:
        """The CTEs up to the parts and the states before them."""
        yield self.cte("changes"), self.changes()
        for value in self.distinct:
            yield from self.turns(value)
        yield self.cte("parts"), self.parts()
        if self.frame.tau is not None:
            yield self.cte("before"), self.before()

    def answers(self) -> Iterator[tuple[str, exp.Query]]:
        """Yield the CTEs of the states at each instant, and of the select lists over them."""
        yield self.cte("states"), self.states()
        yield self.cte("rows"), self.rows()

    @property
    def distinct(self) -> list[int]:
        """The places of the arguments whose values count once."""
        return list(dict.fromkeys(s.place for s in self.arm.states if s.kind in DISTINCT))

    def argument(self, place: int, alias: str) -> exp.Expr:
        """The argument of a state, in a row."""
        return exp.column(f"_a{place - self.arm.width + 1}", table=alias)

    # -- rows and what they add ------------------------------
    def changes(self) -> exp.Query:
        """The rows that begin or end; with no key also the instant at which time begins."""
        query = self.changing()
        if self.arm.width:
            return query
        begin = self.place.begin
        start = TIME_BEGINS.copy() if begin is None else begin.copy()
        arguments = [exp.null() for _ in self.arm.blocks[0].select]
        nothing = build.select([*arguments, start, exp.Literal.number(0)])
        after: list[exp.Expr] = [exp.LTE(this=start.copy(), expression=self.frame.t.copy())]
        if self.frame.tau is not None:
            after.append(exp.GT(this=start.copy(), expression=self.frame.tau.copy()))
        return build.union_all([query, build.add_where(nothing, after)])

    def parts(self) -> exp.Query:
        """Return what each row, and each value that comes or goes, adds to its group's states."""
        at = exp.column(AT, table="_c")
        items = [self.added(state, "_c") for state in self.arm.states]
        query = build.select([*self.key("_c"), at, *self.numbered(items)])
        selects: list[exp.Query] = [build.add_from(query, self.cte_as("changes", "_c"))]
        for value in self.distinct:
            items = [self.turned(state, value) for state in self.arm.states]
            query = build.select([*self.key("_d"), exp.column(AT, table="_d")])
            query.set("expressions", [*query.selects, *self.numbered(items)])
            selects.append(build.add_from(query, self.cte_as(f"d{value}", "_d")))
        return build.union_all(selects)

    def added(self, state: State, alias: str) -> exp.Expr:
        """Return what a row that begins or ends adds to a state."""
        weight = exp.column(WEIGHT, table=alias)
        if state.kind == "rows":
            return weight
        if state.kind in DISTINCT:
            return exp.Literal.number(0) if state.kind == "distinct" else exp.null()
        value = self.argument(state.place, alias)
        if state.kind == "values":
            return _if_null(value, exp.Literal.number(0), weight)
        if state.kind == "sum":
            return _signed(value, weight)
        return value

    def turned(self, state: State, value: int) -> exp.Expr:
        """Return what a value that comes or goes adds to a state."""
        weight = exp.column(WEIGHT, table="_d")
        if state.place != value or state.kind not in DISTINCT:
            return exp.null()
        if state.kind == "distinct":
            return weight
        return _signed(self.argument(value, "_d"), weight)

    def numbered(self, items: list[exp.Expr]) -> list[exp.Expr]:
        """The states under their names."""
        return [exp.alias_(item, f"_s{n}") for n, item in enumerate(items, start=1)]

    # -- states ------------------------------
    def numbers(self) -> range:
        """The numbers of the states, from 1."""
        return range(1, len(self.arm.states) + 1)

    def together(self, number: int, alias: str) -> exp.Expr:
        """Return the total of a state over several sets of rows."""
        kind = self.arm.states[number - 1].kind
        function = _TOGETHER.get(kind, exp.Sum)
        return function(this=exp.column(f"_s{number}", table=alias))

    def before(self) -> exp.Query:
        """The states at the begin of the window, of the groups in which something changes."""
        assert self.frame.tau is not None
        at = exp.alias_(self.frame.tau.copy(), AT)
        if self.place.form.remembers:
            found = self.kept("", [f"s{n}" for n in self.numbers()])
            items: list[exp.Expr] = [exp.column(f"_s{n}", table="_h") for n in self.numbers()]
        else:
            found = self.holding(self.frame.tau)
            items = [self.of_rows(state, "_h") for state in self.arm.states]
        query = build.select([*self.key("_h"), at, *self.numbered(items)])
        build.add_from(query, build.subquery(found, "_h"))
        key = self.key("_h")
        if key and (self.frame.few or not self.place.form.remembers):
            build.add_where(query, [self.changed(key, self.key("_s"))])
        if key and not self.place.form.remembers:
            query.set("group", exp.Group(expressions=self.key("_h")))
        return query

    def of_rows(self, state: State, alias: str) -> exp.Expr:
        """A state of rows that hold."""
        if state.kind == "rows":
            return exp.Count(this=exp.Star(), big_int=True)
        value = self.argument(state.place, alias)
        if state.kind in DISTINCT:
            value = exp.Distinct(expressions=[value])
        if state.kind in ("values", "distinct"):
            return exp.Count(this=value, big_int=True)
        return _TOGETHER.get(state.kind, exp.Sum)(this=value)

    def states(self) -> exp.Query:
        """The states of each group at the instant of each of its parts."""
        union: exp.Query = build.add_from(build.select_all("_s"), self.cte_as("parts", "_s"))
        if self.frame.tau is not None:
            before = build.add_from(build.select_all("_b"), self.cte_as("before", "_b"))
            union = build.union_all([union, before])
        at = exp.column(AT, table="_u")
        items = [_running(self.together(n, "_u"), self.key("_u"), at) for n in self.numbers()]
        query = build.select([*self.key("_u"), at, *self.numbered(items)])
        return build.add_from(query, build.subquery(union, "_u"))

    def rows(self) -> exp.Query:
        """The select list of each group that is there, at each of those instants."""
        conditions = self.after(STATES)
        if self.arm.width:
            there = exp.column("_s1", table=STATES)
            conditions.append(exp.GT(this=there, expression=exp.Literal.number(0)))
        if self.arm.where is not None:
            conditions.append(build.operand(self.arm.where))
        return build.add_where(self.listed_of("states"), conditions)

    # -- DISTINCT ------------------------------
    def turns(self, value: int) -> Iterator[tuple[str, exp.Query]]:
        """Yield CTEs of when a value, by group, becomes an argument of a row or stops being one."""
        if not ends(self.arm.blocks):
            yield self.cte(f"d{value}"), self.first(value)
            return
        counts, running = (self.cte(f"d{value}_{kind}") for kind in ("n", "m"))
        yield counts, self.counts(value)
        names = [*self.key("_n"), self.argument(value, "_n")]
        at, counted = exp.column(AT, table="_n"), exp.column(COUNTED, table="_n")
        union: exp.Query = build.add_from(build.select_all("_x"), build.table(counts, "_x"))
        if self.frame.tau is not None:
            union = build.union_all([union, self.counts_before(value)])
        total = _running(exp.Sum(this=counted.copy()), names, at)
        query = build.select([*names, at, counted, exp.alias_(total, "_m")])
        yield running, build.add_from(query, build.subquery(union, "_n"))
        yield self.cte(f"d{value}"), self.turning(value, running)

    def first(self, value: int) -> exp.Query:
        """Return the first instant of each value, for rows that never end."""
        argument = self.argument(value, "_c")
        listed = [*self.key("_c"), argument, exp.column(AT, table="_c")]
        union: exp.Query = build.add_from(build.select(listed), self.cte_as("changes", "_c"))
        if self.frame.tau is not None:
            before = self.counts_before(value)
            before.set("expressions", before.selects[:-1])
            union = build.union_all([union, before])
        names = [*self.key("_n"), self.argument(value, "_n")]
        at = exp.Min(this=exp.column(AT, table="_n"))
        once = [exp.alias_(exp.Literal.number(1), name) for name in (WEIGHT, COUNTED)]
        query = build.select([*names, exp.alias_(at.copy(), AT), *once])
        build.add_from(query, build.subquery(union, "_n"))
        build.add_where(query, [build.not_null(self.argument(value, "_n"))])
        query.set("group", exp.Group(expressions=[one.copy() for one in names]))
        if self.frame.tau is not None:
            after = exp.GT(this=at, expression=self.frame.tau.copy())
            query.set("having", exp.Having(this=after))
        return query

    def counts(self, value: int) -> exp.Query:
        """Return the change of the number of rows with a value, by group, value and instant."""
        names = [*self.key("_c"), self.argument(value, "_c")]
        at = exp.column(AT, table="_c")
        total = exp.Sum(this=exp.column(WEIGHT, table="_c"))
        query = build.select([*names, at, exp.alias_(total, COUNTED)])
        build.add_from(query, self.cte_as("changes", "_c"))
        build.add_where(query, [build.not_null(self.argument(value, "_c"))])
        grouped = [one.copy() for one in [*names, at]]
        query.set("group", exp.Group(expressions=grouped))
        return query

    def counts_before(self, value: int) -> exp.Select:
        """Return how many rows had the changed values at the begin of the window."""
        assert self.frame.tau is not None
        argument = self.argument(value, "_h")
        names = [*self.key("_h"), argument]
        counted: exp.Expr = exp.column(COUNTED, table="_h")
        if self.place.form.remembers:
            found = self.kept(f"_d{value}", [argument.name[1:], COUNTED[1:]])
        else:
            found = self.holding(self.frame.tau)
            counted = exp.Count(this=exp.Star(), big_int=True)
        at = exp.alias_(self.frame.tau.copy(), AT)
        query = build.select([*names, at, exp.alias_(counted, COUNTED)])
        build.add_from(query, build.subquery(found, "_h"))
        there = [*self.key("_s"), self.argument(value, "_s")]
        build.add_where(query, [self.changed(names, there)])
        if not self.place.form.remembers:
            query.set("group", exp.Group(expressions=[one.copy() for one in names]))
        return query

    def turning(self, value: int, running: str) -> exp.Query:
        """Return the instants at which the number of rows leaves or reaches 0."""
        now = exp.column("_m", table="_r")
        then = exp.Sub(this=now.copy(), expression=exp.column(COUNTED, table="_r"))
        zero = exp.Literal.number(0)
        there, was = (exp.GT(this=one, expression=zero.copy()) for one in (now, then))
        weight = exp.If(this=there.copy(), true=exp.Literal.number(1), false=exp.Literal.number(-1))
        listed = [*self.key("_r"), self.argument(value, "_r"), exp.column(AT, table="_r")]
        query = build.select([*listed, exp.alias_(weight, WEIGHT)])
        build.add_from(query, build.table(running, "_r"))
        differs = exp.NEQ(this=exp.Paren(this=there), expression=exp.Paren(this=was))
        return build.add_where(query, [differs, *self.after("_r")])


def _if_null(value: exp.Expr, null: exp.Expr, other: exp.Expr) -> exp.Expr:
    is_null = exp.Is(this=value, expression=exp.Null())
    return exp.If(this=is_null, true=null, false=other)


def _signed(value: exp.Expr, weight: exp.Expr) -> exp.Expr:
    begins = exp.GT(this=weight, expression=exp.Literal.number(0))
    return exp.If(this=begins, true=value, false=exp.Neg(this=value.copy()))


def _running(total: exp.Expr, key: list[exp.Expr], at: exp.Expr) -> exp.Expr:
    """Return a running total by key up to an instant, everything at that instant included."""
    order = exp.Order(expressions=[exp.Ordered(this=at.copy())])
    frame = exp.WindowSpec(
        kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
    )
    return exp.Window(this=total, partition_by=[one.copy() for one in key], order=order, spec=frame)
