"""The answers of an arm that keeps the first rows of each key: aggregates, section 11, point 5.

    changes    the rows that begin in the window
    before     the first rows of their keys at its begin
    places     both, each with its rank ``_o`` in the order of all of them
    rows       the select list of those that are among the first at the instant at which they begin

No row ends, so a place only grows: a row is an answer iff it is one when it comes. In order of time
a row takes the place of the first rank that is greater than its own, and moves that one down:

    p_j    the least of all ranks that have come to place j before the row: what stands there
    y_j+1  the greater of p_j and what comes to place j, y_j: what moves down

So each place costs one window function, however many rows a key has; all have the same partitions
and the same order. A row is among the first k iff its rank is at most p_k, or nothing stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.arms import FirstRows
from tapestry.sql.cumulative.groups import PART, Groups
from tapestry.sql.lift.cases import AT
from tapestry.sql.normalize.running_states import STATES
from tapestry.sql.write import build

RANK, COMES, STANDS = "_o", "_y", "_p"
"""The rank of a row, what comes to a place with it, and what stands there before it."""


@dataclass(frozen=True)
class Places(Groups):
    """The first rows of the keys of one arm at a place."""

    arm: FirstRows

    def ctes(self) -> Iterator[tuple[str, exp.Query]]:
        """The CTEs up to the first rows at the begin of the window."""
        yield self.cte("changes"), self.changing()
        if self.frame.tau is not None:
            yield self.cte("before"), self.before()

    def answers(self) -> Iterator[tuple[str, exp.Query]]:
        """Yield the CTEs of the places of rows, and of the select lists over them."""
        yield self.cte("places"), self.places()
        yield self.cte("rows"), self.rows()

    @property
    def ordering(self) -> list[str]:
        """Return the names of the columns that order the rows of a key."""
        return [f"_a{n}" for n in range(1, len(self.arm.order) + 1)]

    @property
    def listed(self) -> list[str]:
        """Return the names of the columns after the key."""
        return [f"_a{n}" for n in range(1, len(self.arm.blocks[0].select) - self.arm.width + 1)]

    def window(self, function: exp.Expr, alias: str) -> exp.Window:
        """A rank of the rows of a key, in the order of the query."""
        order = [
            exp.Ordered(
                this=exp.column(one.this.name, table=alias),
                desc=one.args.get("desc"),
                nulls_first=one.args.get("nulls_first"),
            )
            for one in self.arm.order
        ] or [exp.Ordered(this=exp.Literal.number(1))]
        return exp.Window(
            this=function, partition_by=self.key(alias), order=exp.Order(expressions=order)
        )

    def first(self, rows: exp.Query, after: exp.Expr | None = None) -> exp.Select:
        """Return the rows at the first places, with their key, order and instant.

        ``after`` an instant, where that is given.
        """
        names = [*(one.name for one in self.key("")), *self.ordering]
        if self.arm.dense:  # rows that are equal take one place, and one of them says so
            listed = [exp.column(name, table="_e") for name in names]
            at = exp.alias_(exp.Min(this=exp.column(AT, table="_e")), AT)
            once = build.add_from(build.select([*listed, at]), build.subquery(rows, "_e"))
            once.set("group", exp.Group(expressions=[one.copy() for one in listed]))
            rows = once
        place = self.window(exp.RowNumber(), "_f")
        ranked = build.select([exp.column(n, table="_f") for n in [*names, AT]])
        ranked.append("expressions", exp.alias_(place, RANK))
        build.add_from(ranked, build.subquery(rows, "_f"))
        query = build.select([exp.column(n, table="_g") for n in [*names, AT]])
        count = exp.Literal.number(self.arm.count)
        among: list[exp.Expr] = [exp.LTE(this=exp.column(RANK, table="_g"), expression=count)]
        if after is not None:
            among.append(exp.GT(this=exp.column(AT, table="_g"), expression=after.copy()))
        return build.add_where(build.add_from(query, build.subquery(ranked, "_g")), among)

    def at(self, rows: exp.Query, instant: exp.Expr) -> exp.Select:
        """Return rows with their key, their order and an instant."""
        names = [*(one.name for one in self.key("")), *self.ordering]
        listed = [exp.column(name, table="_h") for name in names]
        query = build.select([*listed, exp.alias_(instant.copy(), AT)])
        return build.add_from(query, build.subquery(rows, "_h"))

    def before(self) -> exp.Query:
        """The first rows at the begin of the window, of the keys of the rows that come."""
        tau = self.frame.tau
        assert tau is not None
        remembers = self.place.form.remembers
        found = self.kept("", self.arguments()) if remembers else self.holding(tau)
        query, key = self.at(found, tau), self.key("_h")
        if key and (self.frame.few or not remembers):
            build.add_where(query, [self.changed(key, self.key("_s"))])
        return query if remembers else self.first(query)

    def arguments(self) -> list[str]:
        """The columns of the memory that order rows, without its prefix."""
        return [name[1:] for name in self.ordering]

    def together(self, listed: list[str]) -> exp.Query:
        """The rows that come and the first ones before them, with their instants."""
        names = [*(one.name for one in self.key("")), *listed, AT]
        come = build.select([exp.column(name, table="_c") for name in names])
        union: exp.Query = build.add_from(come, self.cte_as("changes", "_c"))
        if self.frame.tau is not None:
            there = {one.name for one in self.key("")} | set(self.ordering) | {AT}
            columns = [
                exp.column(name, table="_b") if name in there else exp.null() for name in names
            ]
            before = build.add_from(build.select(columns), self.cte_as("before", "_b"))
            union = build.union_all([union, before])
        return union

    def places(self) -> exp.Query:
        """Return the rows with their ranks, and the rank at the last place before each of them."""
        names = [*(one.name for one in self.key("")), *self.listed, AT]
        rank = exp.alias_(self.window(exp.Rank(), "_u"), RANK)
        query = build.select([*(exp.column(name, table="_u") for name in names), rank])
        build.add_from(query, build.subquery(self.together(self.listed), "_u"))
        names.append(RANK)
        comes: exp.Expr = exp.column(RANK, table="_u")
        for place in range(1, self.arm.count + 1):
            columns: list[exp.Expr] = [exp.column(name, table="_u") for name in names]
            moved = build.select([*columns, exp.alias_(comes, COMES)])
            build.add_from(moved, build.subquery(query, "_u"))
            last = place == self.arm.count
            shown = [exp.column(name, table="_v") for name in names + ([] if last else [COMES])]
            query = build.select([*shown, exp.alias_(self.stands(), STANDS)])
            build.add_from(query, build.subquery(moved, "_v"))
            comes = self.moves_down()
        return query

    def stands(self) -> exp.Window:
        """Return the least rank that has come to a place before a row, in order of time."""
        order = [exp.Ordered(this=exp.column(name, table="_v")) for name in (AT, RANK)]
        return exp.Window(
            this=exp.Min(this=exp.column(COMES, table="_v")),
            partition_by=self.key("_v"),
            order=exp.Order(expressions=order),
            spec=exp.WindowSpec(
                kind="ROWS",
                start="UNBOUNDED",
                start_side="PRECEDING",
                end=exp.Literal.number(1),
                end_side="PRECEDING",
            ),
        )

    def moves_down(self) -> exp.Expr:
        """Return the rank that moves from a place to the next; NULL if the place was free."""
        comes, stands = (exp.column(name, table="_u") for name in (COMES, STANDS))
        moves: list[exp.Expr] = [build.not_null(comes), build.not_null(stands)]
        if self.arm.dense:
            moves.append(exp.NEQ(this=comes.copy(), expression=stands.copy()))
        greater = exp.Greatest(this=comes.copy(), expressions=[stands.copy()])
        return exp.Case(ifs=[exp.If(this=exp.and_(*moves), true=greater)])

    def rows(self) -> exp.Query:
        """The select list of the rows that are among the first when they come."""
        stands = exp.column(STANDS, table=STATES)
        free = exp.Is(this=stands, expression=exp.Null())
        among = exp.LTE(this=exp.column(RANK, table=STATES), expression=stands.copy())
        conditions = [exp.Paren(this=exp.or_(free, among)), *self.after(STATES)]
        if self.arm.where is not None:
            conditions.append(build.operand(self.arm.where))
        return build.add_where(self.listed_of("places"), conditions)

    # -- what is kept -----------------------------------------------------------------------------
    def remembered(self, whole: bool) -> tuple[dict[str, exp.Expr], exp.Select]:
        """The columns of the rows to keep, and a SELECT of them, which lists none yet."""
        tau = self.frame.tau
        if tau is None:
            first = self.first(self.at(self.holding(self.frame.t), self.frame.t))
        elif whole:
            names = [*(one.name for one in self.key("")), *self.ordering]
            come = build.select([exp.column(name, table="_c") for name in names])
            build.add_from(come, self.cte_as("changes", "_c"))
            both = build.union_all([self.kept("", self.arguments()), come])
            first = self.first(self.at(both, self.frame.t))
        else:
            first = self.first(self.together(self.ordering), tau)
        prefix = self.place.prefix
        names = [*(one.name for one in self.key("")), *self.ordering]
        row: dict[str, exp.Expr] = {PART: exp.Literal.string(prefix)}
        row.update({f"{prefix}_{name[1:]}": exp.column(name, table="_r") for name in names})
        return row, build.add_from(exp.Select(), build.subquery(first, "_r"))
