"""Evaluates many LEFT JOINs to growing tables one after the other, a stage for each.

A row so far is a derivation with an interval ``[lo, hi)`` in which it holds (no hi: for ever); one
that holds several times has several. A LEFT JOIN to ``a``, whose row matches in ``[b, e)``, gives

    hit    the pair, in  [greatest(lo, b), least(hi, e))
    gap    the row with NULLs, wherever in [lo, hi) no pair holds:  before the least b, and from
           the greatest e so far to the next b, by b

and so the same derivations as ``(m ⋈ a) ∪ (m where NOT EXISTS a)``, in text that grows with the
number of joins instead of its exponential. In the end a derivation is new iff the least of its
starts lies in ``(tau, t]``. Nothing is cut off at tau: a derivation that held before, and holds
again, has its earlier interval beside the later one.

Some bound lies in the window where a derivation begins: that of a row that is always there, or a
start or an end of a match. So only rows of the first tables that such a bound is about are taken.

Each relation is read once, by a join with the kinds of rows instead of a union of them: Spark
writes a CTE out wherever it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.names import MATCHED_AT, ROW_ID
from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame, at_most, greater, greatest, least, less
from tapestry.sql.branches.selects import (
    Reads,
    aliases_of,
    filters_of,
    where,
)
from tapestry.sql.branches.split_by_bound import by, drop_redundant_bounds
from tapestry.sql.facts.arrivals import match_ends, match_starts, moving
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table
from tapestry.sql.strategies.chain import Chain
from tapestry.sql.strategies.sizes import INSTANT, LINE, Sizes
from tapestry.sql.strategies.stage import (
    ROW,
    Stage,
    all_of_row,
    any_of,
    case,
    less_or_null,
    place_in,
)
from tapestry.sql.write import build

START, _PLACE = "_start", "_place"
_STAGE = 1_500
"""Characters of a stage beside its expressions."""


def size_by_stages(block: Block, sizes: Sizes) -> int:
    """Return the size: a stage for each LEFT JOIN, and one more subquery for each."""
    total = sizes.of(block.select + block.keys) + sizes.relations(block.tables)
    for one in block.disjuncts:
        total += sizes.own(one) + sizes.reached(one) + 2 * sizes.first(one)
    chain = Chain.of(block)
    for table in (*chain.behind, *chain.absent):
        bounds = match_starts(table) + match_ends(table)
        total += _STAGE + 2 * sizes.of(table.on or ()) + 6 * sizes.of(bounds, INSTANT + LINE)
    return total


@dataclass
class StagePlan:
    """The CTEs of one block, in order, and the select that uses them."""

    block: Block
    columns: tuple[str, ...]
    frame: Frame
    reads: Reads
    prefix: str
    ctes: list[tuple[str, exp.Query]] = field(default_factory=list)
    carried: dict[tuple[str, str], str] = field(default_factory=dict)
    """(alias, column) -> what it is called in a row so far."""
    lo: str = "_lo"
    hi: str = "_hi"
    """The names of the columns of the interval in a row so far."""
    stages: int = 0
    done: list[exp.Expr] = field(default_factory=list)
    """The conditions that rows so far fulfil."""

    def __post_init__(self) -> None:
        self.chain = Chain.of(self.block)
        self.needed = self.chain.needs()

    def select(self) -> exp.Select:
        """The derivations whose first instant lies in the window, with ``_matched_at``."""
        rows = self.add("rows", self.first_rows())
        for table in self.chain.behind:
            rows = self.stage(rows, table) if moving([table]) else self.still(rows, table)
        for table in self.chain.absent:
            rows = self.stage(rows, table, absent=True)
        return self.last(rows)

    # -- names and columns --------------------------------------------------------------------
    def add(self, part: str, query: exp.Query) -> str:
        """Add a CTE; returns its name."""
        name = f"{self.prefix}_{part}"
        self.ctes.append((name, query))
        return name

    def carry(self, table: Table, source: str = "") -> list[exp.Expr]:
        """The columns of a table that is joined, under the names that rows so far have for them."""
        listed = []
        for name in self.needed.get(table.alias, []):
            taken = {*self.carried.values(), START, MATCHED_AT}
            called, number = f"{table.alias}_{name}".lower(), 1
            while called in taken:
                number += 1
                called = f"{table.alias}_{name}_{number}".lower()
            self.carried[table.alias, name] = called
            listed.append(build.named(build.column(name, source or table.alias), called))
        return listed

    def over(self, node: exp.Expr, relation: str = ROW) -> exp.Expr:
        """The node over a row so far."""

        def replace(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column):
                return part
            called = self.carried.get((part.table, part.name))
            if called is None:
                return part
            column = build.column(called, relation)
            column.type = part.type
            return column

        return node.copy().transform(replace, copy=False)

    def interval(self, relation: str = ROW) -> tuple[exp.Expr, exp.Expr]:
        """Return the begin and the end of the interval in which a row so far holds."""
        return exp.column(self.lo, table=relation), exp.column(self.hi, table=relation)

    def row_ids(self) -> list[exp.Expr]:
        """Return the columns that tell rows so far apart."""
        return [
            exp.column(name, table=ROW) for (_, of), name in self.carried.items() if of == ROW_ID
        ]

    # -- the rows that are always there ---------------------------------------------------------
    def first_rows(self) -> exp.Select:
        """The rows of the tables that are always there, those that may begin in the window."""
        frame = self.frame
        lowers = drop_redundant_bounds(self.chain.shared.lowers, frame.order)
        uppers = self.chain.shared.uppers
        listed = [column for table in self.chain.first for column in self.carry(table)]
        ends = least(uppers) if uppers else exp.cast(exp.null(), "timestamptz")
        listed += [exp.alias_(greatest(lowers), self.lo), exp.alias_(ends, self.hi)]
        select = self.reads.from_clause(build.select(listed), self.chain.first, frame)
        here = {table.alias for table in self.chain.first}
        conditions = [one for one in self.chain.shared.filters if aliases_of(one) <= here]
        conditions += [by(low, frame.t, exp.LTE, frame.order) for low in self.chain.shared.lowers]
        conditions += [less(low, high) for low in lowers for high in uppers]
        if frame.tau is not None:
            begins = list(self.begin_within(frame.tau))
            conditions.append(any_of(begins))
        return where(select, conditions)

    def begin_within(self, tau: exp.Expr) -> Iterator[exp.Expr]:
        """Yield conditions; one holds if a derivation of the first rows begins in the window."""
        lowers = dict.fromkeys(low for one in self.block.disjuncts for low in one.lowers)
        yield from self.within(lowers, tau)
        for table in (*moving(self.block.tables), *self.chain.absent):
            absent = table in self.chain.absent
            bounds = match_ends(table) if absent else match_starts(table) + match_ends(table)
            if not bounds:
                continue
            tables, conditions = self.chain.met(table)
            select = self.reads.from_clause(build.select_one(), tables, self.frame)
            met = where(select, [*conditions, any_of(list(self.within(bounds, tau)))])
            yield exp.Exists(this=met)

    def within(self, bounds: Iterable[exp.Expr], tau: exp.Expr) -> Iterator[exp.Expr]:
        """Yield the conditions that a bound lies in the window."""
        frame = self.frame
        for bound in bounds:
            after = by(bound, tau, exp.GT, frame.order)
            yield exp.And(this=after, expression=by(bound, frame.t, exp.LTE, frame.order))

    # -- stages ---------------------------------------------------------------------------------
    def still(self, rows: str, table: SourceTable) -> str:
        """Add a LEFT JOIN to a table whose rows always exist, which keeps the interval."""
        self.stages += 1
        on, known = [self.over(one) for one in filters_of(table) or ()], self.known()
        select = build.select([all_of_row(), *self.carry(table)])
        build.add_from(select, build.table(rows, ROW))
        build.add_from(select, self.reads.relation(table, self.frame), on)
        return self.add(f"with_{self.stages}", where(select, known))

    def stage(self, rows: str, table: SourceTable, absent: bool = False) -> str:
        """Add a LEFT JOIN to a table whose rows come and go, or match for a time.

        Where the table has to be ``absent``, the rows with a match are left out.
        """
        keys = self.row_ids()
        self.stages += 1
        stage = Stage(self.stages, *self.interval(), bool(match_ends(table)), absent)
        pairs = self.pairs(rows, table, stage)
        columns = [] if absent else self.carry(table)
        ranked = stage.ranked(build.subquery(pairs, ROW), keys)
        select = stage.rows(build.subquery(ranked, ROW), columns)
        self.lo, self.hi = stage.name("lo"), stage.name("hi")
        return self.add(f"without_{self.stages}" if absent else f"with_{self.stages}", select)

    def pairs(self, rows: str, table: SourceTable, stage: Stage) -> exp.Select:
        """Each row so far with each row that it matches at some time up to t, or with none."""
        starts, ends = match_starts(table), match_ends(table)
        frame = self.frame
        on = [
            *(filters_of(table) or ()),
            *(by(one, frame.t, exp.LTE, frame.order) for one in starts),
        ]
        on += [less(start, end) for start in starts for end in ends]
        on += [build.not_null(one) for one in ends]
        there = build.not_null(exp.column(ROW_ID, table=table.alias))
        begin = self.over(greatest(starts)) if starts else stage.low.copy()
        listed: list[exp.Expr] = [all_of_row()]
        needed = [] if stage.absent else self.needed.get(table.alias, [])
        for place, name in enumerate(needed):
            listed.append(exp.alias_(build.column(name, table.alias), stage.name(f"c{place}")))
        listed.append(exp.alias_(case(there, begin), stage.name("b")))
        if ends:
            listed.append(exp.alias_(case(there, self.over(least(ends))), stage.name("e")))
        select = build.add_from(build.select(listed), build.table(rows, ROW))
        relation = self.reads.relation(table, frame)
        build.add_from(select, relation, [self.over(one) for one in dict.fromkeys(on)])
        return where(select, self.known())

    def known(self) -> list[exp.Expr]:
        """Return the conditions of every disjunct that rows so far decide: fewer rows go on."""
        found = []
        for condition in self.chain.shared.conditions:
            here = {alias for alias, _ in self.carried}
            if (
                not self.chain.is_first(condition)
                and condition not in self.done
                and aliases_of(condition) <= here
            ):
                self.done.append(condition)
                found.append(self.over(condition))
        return found

    # -- the end ----------------------------------------------------------------------------------
    def last(self, rows: str) -> exp.Select:
        """The derivations whose least start lies in the window."""
        starts = tuple(self.start(one) for one in self.block.disjuncts)
        select = build.select([all_of_row(), exp.alias_(least(starts), START)])
        build.add_from(select, build.table(rows, ROW))
        found = self.add("found", where(select, self.known()))
        start = exp.column(START, table=ROW)
        place = place_in(self.row_ids(), [start])
        ranked = build.select([all_of_row(), exp.alias_(place, _PLACE)])
        build.add_from(ranked, build.table(found, ROW))
        where(ranked, [build.not_null(start)])
        first = exp.column(START, table="_f")
        listed = [
            build.named(timing.as_of(self.over(value, "_f"), first), name)
            for value, name in zip(self.block.select, self.columns, strict=True)
        ]
        listed.append(exp.alias_(first.copy(), MATCHED_AT))
        query = build.add_from(build.select(listed), build.subquery(ranked, "_f"))
        window: list[exp.Expr] = [
            exp.EQ(this=exp.column(_PLACE, table="_f"), expression=exp.Literal.number(1))
        ]
        if self.frame.tau is not None:
            window.append(greater(first, self.frame.tau))
        return where(query, [*window, at_most(first, self.frame.t)])

    def start(self, conjunction: Conjunction) -> exp.Expr:
        """The first instant of a row at which a disjunct holds; NULL where there is none."""
        low, high = self.interval()
        lowers = [
            self.over(one) for one in conjunction.lowers if one not in self.chain.shared.lowers
        ]
        uppers = [
            self.over(one) for one in conjunction.uppers if one not in self.chain.shared.uppers
        ]
        start = greatest((low, *lowers))
        conditions = [
            self.over(one)
            for one in conjunction.conditions
            if one not in self.chain.shared.conditions
        ]
        conditions += [at_most(one, self.frame.t) for one in lowers]
        conditions += [less(one, end) for one in (low, *lowers) for end in uppers]
        conditions += [exp.Paren(this=less_or_null(one, high)) for one in lowers]
        return case(build.conjunction(list(map(build.operand, conditions))), start)
