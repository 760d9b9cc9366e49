"""Render standard form as SQL over one window: scans, the strategies' selects, one statement."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.names import MATCHED_AT
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, ByValue, KeptGroups, OuterArm, evaluated
from tapestry.sql.branches.frame import Frame, greater
from tapestry.sql.branches.order import Order, order_of
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.branches.selects import where
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.cumulative.groups import Groups
from tapestry.sql.cumulative.remember import groups_of, names_kept, remember
from tapestry.sql.ir import ValueTable
from tapestry.sql.lifted.render_lifted import measured
from tapestry.sql.statement.text import TAU, Body, Statement, T, since_of
from tapestry.sql.write import build


@dataclass(frozen=True)
class Rendering(Statement):
    """One query, rendered by the strategies of its arms."""

    @property
    def rendered_key(self) -> Hashable:
        """All that the statement depends on besides the query, the scans and the window."""
        one = self.reading
        scans = (self.late, frozenset(self.late_from), frozenset(one.apart), frozenset(one.joined))
        return (self.dialect, self.form, self.columns, one.few, one.little, one.joins, *scans)

    def frame(self) -> Frame:
        """The window ``(TAU, T]`` of placeholders."""
        tau, one = None if self.form.first else timing.placeholder(TAU), self.reading
        t = timing.placeholder(T)
        return Frame(tau, t, self.order(), one.few, one.little, one.joins, one.measured)

    def incremental(self) -> Body:
        """Q^I over the window."""
        frame = self.frame()
        numbered = enumerate(self.arms, start=1)
        every = Rendered.all_of_these(
            self.rendered_arm(arm, f"p{number}", frame) for number, arm in numbered
        )
        return self.body(every.ctes, build.union_all(every.selects))

    def rendered_arm(self, arm: OuterArm, prefix: str, frame: Frame) -> Rendered:
        """One arm of the outermost UNION ALL."""
        if isinstance(arm, ByValue) and (arm.audit or not self.unique(arm)):
            return self.counted_by_value(arm, prefix, frame)
        return self.by_strategies(arm, prefix, frame)

    def by_strategies(self, arm: OuterArm, prefix: str, frame: Frame) -> Rendered:
        """An arm by itself, or each of its blocks, by their strategies."""
        place, found = self.place(prefix, frame), list[Rendered]()
        for number, one in enumerate(evaluated(arm), start=1):
            here = place if one is arm else replace(place, prefix=f"{prefix}_{number}")
            found.append(strategy_for(one).render(one, here))
        return Rendered.all_of_these(found)

    def counted_by_value(self, arm: ByValue, prefix: str, frame: Frame) -> Rendered:
        """An arm whose answers count by value.

        One is new iff none of its derivations was an answer at or before tau. Where the frame is
        unsplit that is seen in all derivations up to t: the first of them lies after tau.
        """
        before, after = frame.before(), frame.tau
        if frame.unsplit and after is not None:
            frame, before = replace(frame, tau=None, few=False), None
        new = self.by_strategies(arm, prefix, frame)
        ctes = [*new.ctes, (f"{prefix}_new", build.union_all(new.selects))]
        columns = [name for n, name in enumerate(self.columns) if n not in arm.audit]
        named = [build.column(name, "_n") for name in columns]
        conditions = []
        if before is not None:
            old = self.by_strategies(arm, f"{prefix}_old", before)
            ctes += [*old.ctes, (f"{prefix}_old", build.union_all(old.selects))]
            same = build.same(
                [build.column(name, "_o") for name in columns],
                [build.column(name, "_n") for name in columns],
            )
            old_answers = build.table(f"{prefix}_old", "_o")
            inner = where(build.add_from(build.select_one(), old_answers), same)
            conditions.append(exp.Not(this=exp.Exists(this=inner)))
        first, place = exp.Min(this=exp.column(MATCHED_AT, table="_n")), self.place(prefix, frame)
        listed = [
            place.audited(arm.audit, n, first) if n in arm.audit else build.column(name, "_n")
            for n, name in enumerate(self.columns)
        ]
        listed.append(exp.alias_(first, MATCHED_AT))
        select = build.add_from(build.select(listed), build.table(f"{prefix}_new", "_n"))
        select.set("group", exp.Group(expressions=[name.copy() for name in named]))
        if before is None and after is not None:
            select.set("having", exp.Having(this=greater(first, after)))
        return Rendered((where(select, conditions),), tuple(ctes))

    def place(self, prefix: str, frame: Frame) -> RenderPlace:
        """Return the place at which a block, or an arm by itself, is rendered."""
        begin = None if self.begin is None else timing.literal(self.begin)
        reads = self.reads()
        return RenderPlace(self.columns, frame, reads, self.form, prefix, begin)

    def remembered(self, whole: bool) -> Body:
        """Render the window's changes of the groups with running states, or whole states."""
        query, ctes = remember(self.kept(), whole)
        return self.body(ctes, query)

    def kept(self) -> list[Groups]:
        """The arms whose groups have running states, or first rows."""
        frame = self.frame()
        return [
            groups_of(arm, self.place(f"p{number}", frame))
            for number, arm in enumerate(self.arms, start=1)
            if isinstance(arm, KeptGroups)
        ]

    def state_columns(self) -> tuple[str, ...]:
        """The columns of the groups' states, in their order."""
        return tuple(names_kept(self.kept()))

    def measures(self) -> Iterator[Body]:
        """Yield, for each arm evaluated at instants, a SELECT of its keys and row-instants."""
        frame = self.frame()
        for number, arm in enumerate(self.arms, start=1):
            if isinstance(arm, AtInstants):
                select, ctes = measured(arm, self.place(f"p{number}", frame))
                yield self.body(ctes, select)

    def unique(self, arm: OuterArm) -> bool:
        """Return whether a single block gives every value once by itself.

        A row of a table of values is found once; so is an answer that lists all of its columns.
        One that leaves a column out, or computes with it, may be that of several rows.
        """
        block, *others = arm.blocks
        if others or len(block.tables) != 1 or not isinstance(block.tables[0], ValueTable):
            return False
        listed = {value.name for value in block.select if isinstance(value, exp.Column)}
        return listed >= set(block.tables[0].columns)

    def order(self) -> Order:
        """Return the known orders of bounds in this rendering."""
        order = order_of(self.arms, self.catalog, self.late, self.assumptions)
        late_from = self.late_from
        since = {
            alias: timing.placeholder(since_of(root))
            for alias, table in order.tables.items()
            if (root := self.catalog.root(table.source)) in late_from
        }
        return replace(order, since=since)
