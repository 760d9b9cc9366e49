"""The groups of one arm at a place, and their kept states (aggregates, sections 5 and 11).

``changes`` are the rows that begin or end in the window; what else a CTE reads is of their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.arms import KeptGroups
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.branches.selects import Reads
from tapestry.sql.cumulative.rows import changing, holding
from tapestry.sql.lift.cases import AT
from tapestry.sql.lifted.render_lifted import new_answers
from tapestry.sql.normalize.running_states import STATES
from tapestry.sql.planner.hints import broadcast
from tapestry.sql.write import build

MEMORY_CTE, PART = "memory", "part"
"""The CTE of the states of groups of all arms, and its column with the arm and part of a row."""


@dataclass(frozen=True)
class Groups:
    """The groups of one arm at a place."""

    arm: KeptGroups
    place: RenderPlace

    def rendered(self) -> Rendered:
        """The select of the new answers with ``_matched_at``, and its CTEs."""
        select = new_answers(self.arm, self.place, self.cte("rows"))
        return Rendered((select,), (*self.ctes(), *self.answers()))

    @property
    def frame(self) -> Frame:
        """The window; without a begin if answers at the model's begin are known (``at_begin``)."""
        frame = self.place.frame
        return Frame(None, frame.t, frame.order, frame.few) if self.place.form.at_begin else frame

    @property
    def reads(self) -> Reads:
        """Names of the CTEs that apply the scans."""
        return replace(self.place.reads, joined={})

    def ctes(self) -> Iterator[tuple[str, exp.Query]]:
        """Yield the CTEs of the changes in the window, and of the states before it."""
        raise NotImplementedError

    def answers(self) -> Iterator[tuple[str, exp.Query]]:
        """Yield the CTEs after those; the last one, ``rows``, has answers and when each holds."""
        raise NotImplementedError

    def cte(self, kind: str) -> str:
        """The name of a CTE."""
        return f"{self.place.prefix}_{kind}"

    def cte_as(self, kind: str, alias: str) -> exp.Table:
        """A CTE in FROM."""
        return build.table(self.cte(kind), alias)

    def key(self, alias: str) -> list[exp.Expr]:
        """Return the grouping columns in a row."""
        return [exp.column(f"_k{n}", table=alias) for n in range(1, self.arm.width + 1)]

    def listed_of(self, kind: str) -> exp.Select:
        """The select list over the rows of a CTE, and the instant of each."""
        at = exp.column(AT, table=STATES)
        items = [
            build.named(timing.as_of(item, at), name)
            for item, name in zip(self.arm.items, self.place.listed, strict=True)
        ]
        return build.add_from(build.select([*items, at]), self.cte_as(kind, STATES))

    def after(self, alias: str) -> list[exp.Expr]:
        """Return the condition that an instant lies in the window, if it lies before its end."""
        tau, at = self.frame.tau, exp.column(AT, table=alias)
        return [] if tau is None else [exp.GT(this=at, expression=tau.copy())]

    def changing(self) -> exp.Query:
        """The rows that begin or end in the window, each with the instant and its weight."""
        return changing(self.arm.blocks, self.arm.width, self.frame, self.reads)

    def changed(self, these: list[exp.Expr], those: list[exp.Expr]) -> exp.Expr:
        """Return the condition that a key is among ``changes``, aliased ``_s``; NULL is a key."""
        inner = build.add_from(build.select_one(), self.cte_as("changes", "_s"))
        if self.frame.few:
            broadcast(inner, ["_s"])
        return exp.Exists(this=build.add_where(inner, build.same(these, those)))

    def holding(self, instant: exp.Expr) -> exp.Query:
        """The rows that hold at an instant."""
        frame = Frame(None, instant, self.frame.order)
        return holding(self.arm.blocks, self.arm.width, instant, frame, self.reads)

    def kept(self, part: str, names: list[str]) -> exp.Query:
        """Return the rows of a part of the memory, with the column names used here."""
        keys = [f"k{n}" for n in range(1, self.arm.width + 1)]
        listed = [
            exp.alias_(exp.column(f"{self.place.prefix}_{name}", table="_m"), f"_{name}")
            for name in [*keys, *names]
        ]
        query = build.add_from(build.select(listed), build.table(MEMORY_CTE, "_m"))
        text = exp.Literal.string(self.place.prefix + part)
        return build.add_where(query, [exp.EQ(this=exp.column(PART, table="_m"), expression=text)])
