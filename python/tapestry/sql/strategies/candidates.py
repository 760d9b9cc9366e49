"""Strategies 3 and 4: candidate instants, each checked; the least that holds is the first instant.

For one derivation with interval ``[c, d)`` the first instant is c, or the start of an inner
interval at positive polarity, or the end of one at negative polarity, counting every NOT at every
depth: the truth of a conjunction rises nowhere else (semantics, section 2, "First instant").  A
derivation is new iff its least holding candidate lies in ``(tau, t]``: found by the candidates in
the window, dropped where a candidate at or before tau holds as well.

With NOT EXISTS only, one level deep, the candidates are c and the ends of inner intervals
(strategy 3, "gaps"); else all of them (strategy 4, "candidates").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tapestry.names import MATCHED_AT, ROW_ID
from tapestry.sql import timing
from tapestry.sql.branches.edges import Edge, edges
from tapestry.sql.branches.frame import Frame, at_most, greater, greatest, least, less
from tapestry.sql.branches.selects import (
    Reads,
    expressions_of,
    non_empty,
    source_columns,
    valid_at,
    where,
)
from tapestry.sql.branches.split_by_bound import (
    drop_redundant_bounds,
    narrowing,
    split_by_bound,
    with_rows,
)
from tapestry.sql.ir import Block, Conjunction, Exists, SourceTable, Table
from tapestry.sql.planner.measured_ranges import ranges_of_chain, ranges_of_tables, texts
from tapestry.sql.planner.narrowed_first import hinted, narrowed_first
from tapestry.sql.strategies.sizes import LINE, Sizes
from tapestry.sql.work import spend
from tapestry.sql.write import build

AT = "_at"
_RANK = "_rank"


def size_by_candidates(block: Block, sizes: Sizes) -> int:
    """Return the size: each candidate of each disjunct, for the window and for before."""
    nodes = [*block.select, *block.keys]
    for one in block.disjuncts:
        nodes.extend(expressions_of(one))
    used = source_columns(nodes)
    carried = sum(
        2 * len(name) + LINE for table in block.tables for name in used.get(table.alias, [])
    )
    head = carried + 2 * sizes.relations(block.tables)
    total = sizes.of(block.select + block.keys)
    for one in block.disjuncts:
        each = head + sizes.own(one) + sizes.reached(one) + sizes.first(one)
        total += each * sizes.branches(one)
        for edge in edges(one):
            spend(2 * len(edge.chain), "instants at which a subquery may change")
            last = edge.last
            instant = sizes.of(last.uppers if edge.rises_at_end else last.lowers)
            each = head + sizes.own(one) + sizes.of(one.lowers + one.uppers, instant + LINE)
            for link in edge.chain:
                each += sizes.relations(link.tables) + sizes.own(link)
            each += sizes.reached(last) + instant
            total += each * (1 if edge.rises_at_end else max(1, sizes.branches(last)))
        total += sum(sizes.inner(exists, LINE, head) for exists in one.exists)
    return 2 * total


@dataclass
class CandidatePlan:
    """The CTEs of one block, in order, and the select that uses them."""

    block: Block
    columns: tuple[str, ...]
    frame: Frame
    reads: Reads
    prefix: str
    ctes: list[tuple[str, exp.Query]] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)

    def select(self) -> exp.Select:
        """The derivations whose first instant lies in the window, with ``_matched_at``."""
        found = self.union(
            "found",
            [
                alive
                for i, conjunction in enumerate(self.block.disjuncts, start=1)
                for alive in [self.alive(f"{i}", conjunction, None)]
            ],
        )
        first = self.first_of(found)
        conditions: list[exp.Expr] = []
        if self.frame.tau is not None:
            conditions.append(self.not_earlier(first))
        first_at = exp.column(AT, table="_f")
        listed = [
            build.named(timing.as_of(self.outer(value, "_f"), first_at), name)
            for value, name in zip(self.block.select, self.columns, strict=True)
        ]
        listed.append(exp.alias_(first_at, MATCHED_AT))
        return where(build.add_from(build.select(listed), build.table(first, "_f")), conditions)

    # -- names and columns --------------------------------------------------------------------
    def name(self, part: str) -> str:
        """The name of one of this block's CTEs."""
        return f"{self.prefix}_{part}"

    def add(self, part: str, query: exp.Query) -> str:
        """Add a CTE; returns its name."""
        name = self.name(part)
        self.ctes.append((name, query))
        return name

    def keys(self) -> list[tuple[str, exp.Expr]]:
        """Return the names and values of a derivation's key: row ids, or tables' values."""
        return self.keys_of(self.block.tables)

    def keys_of(self, tables: tuple[Table, ...]) -> list[tuple[str, exp.Expr]]:
        """Names and expressions of the keys of some tables."""
        keys: list[tuple[str, exp.Expr]] = []
        for table in tables:
            name = f"_key_{table.alias}"
            if isinstance(table, SourceTable):
                keys.append((f"{name}_{ROW_ID}", exp.column(ROW_ID, table=table.alias)))
                continue
            # Numbered: `a` with a column `b_c` may stand beside `a_b` with a column `c`.
            for number, column in enumerate(table.columns, 1):
                keys.append((f"{name}_{number}", exp.column(column, table=table.alias)))
        return keys

    def structs(self) -> list[exp.Expr]:
        """One struct a table, of the columns that the block uses later."""
        return self.structs_of(self.block.tables)

    def structs_of(self, tables: tuple[Table, ...]) -> list[exp.Expr]:
        """One struct for each of some tables."""
        used = {table.alias: self.used().get(table.alias, []) for table in tables}
        return [
            exp.alias_(
                exp.Struct(
                    expressions=[
                        exp.PropertyEQ(
                            this=exp.to_identifier(name), expression=exp.column(name, table=alias)
                        )
                        for name in names
                    ]
                ),
                alias,
            )
            for alias, names in used.items()
            if names
        ]

    def used(self) -> dict[str, list[str]]:
        """alias -> columns that the block uses anywhere, its subqueries' tables included."""
        if not self.known:
            nodes = list(self.block.select)
            for conjunction in self.block.disjuncts:
                nodes.extend(expressions_of(conjunction))
            self.known = source_columns(nodes)
        return self.known

    def outer(
        self, node: exp.Expr, relation: str, tables: tuple[Table, ...] | None = None
    ) -> exp.Expr:
        """The node with ``m.x`` read from the struct m of ``relation``: ``relation.m.x``."""
        aliases = {table.alias for table in (tables or self.block.tables)}

        def replace(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and part.table in aliases and not part.db:
                return exp.column(part.this.copy(), table=part.table, db=relation)
            return part

        return node.copy().transform(replace, copy=False)

    def conjunction_over(
        self, conjunction: Conjunction, relation: str, tables: tuple[Table, ...] | None = None
    ) -> Conjunction:
        """The conjunction with ``tables`` (the block's own) read from structs of ``relation``."""

        def over(nodes: tuple[exp.Expr, ...]) -> tuple[exp.Expr, ...]:
            return tuple(self.outer(node, relation, tables) for node in nodes)

        exists = tuple(
            Exists(one.negated, self.conjunction_over(one.inner, relation, tables))
            for one in conjunction.exists
        )
        return Conjunction(
            conjunction.tables,
            over(conjunction.conditions),
            over(conjunction.lowers),
            over(conjunction.uppers),
            exists,
            tuple(
                replace(one, condition=self.outer(one.condition, relation, tables))
                for one in conjunction.inferred
            ),
        )

    # -- candidates ---------------------------------------------------------------------------
    def alive(self, part: str, conjunction: Conjunction, base: str | None) -> exp.Select:
        """The candidates of one disjunct that hold; over a base relation: those before tau."""
        stage = "tried" if base is None else "tried_before"
        tried = self.union(f"{stage}_{part}", list(self.candidates(conjunction, base)))
        over = self.conjunction_over(conjunction, "_k")
        instant = exp.column(AT, table="_k")
        checks = [
            self.check(f"{stage}_{part}_{n}", tried, one, instant, self.keys())
            for n, one in enumerate(over.exists, start=1)
        ]
        return where(build.add_from(build.select_all("_k"), build.table(tried, "_k")), checks)

    def candidates(self, conjunction: Conjunction, base: str | None) -> Iterator[exp.Select]:
        """Selects of (derivation, candidate): in the window, or over a base at or before tau."""
        frame = self.frame
        if base is not None:
            before = frame.before()
            assert before is not None
            frame = before
            conjunction = self.conjunction_over(conjunction, "_b")
        here = frame.within(conjunction.conditions, conjunction.tables) if base is None else frame
        lowers = drop_redundant_bounds(conjunction.lowers, here.order)
        own = [*conjunction.filters, *non_empty(conjunction)]
        if lowers:
            branches = split_by_bound(conjunction.lowers, here)
            for branch in with_rows(branches, conjunction.filters, frame.measured):
                reached = [*branch.conditions]
                reached += texts(ranges_of_tables(conjunction, branch, frame))
                if branch.narrowed is not None:
                    aliases = {table.alias for table in conjunction.tables}
                    reached += narrowing(branch.narrowed, aliases, here)
                if base is not None:
                    reached = [at_most(low, frame.t) for low in conjunction.lowers]
                tables = narrowed_first(conjunction.tables, branch, own, here)
                tried = self.candidate(tables, greatest(lowers), [*own, *reached], base)
                yield hinted(tried, branch, frame)
        for edge in edges(conjunction):
            yield from self.edge_candidates(conjunction, edge, base, frame)

    def edge_candidates(
        self, conjunction: Conjunction, edge: Edge, base: str | None, frame: Frame
    ) -> Iterator[exp.Select]:
        """Selects of (derivation, start or end of an inner interval)."""
        last = edge.last
        if not edge.rises_at_end and not last.lowers:
            return  # static rows have no beginning: no candidate comes from them
        instant = least(last.uppers) if edge.rises_at_end else greatest(last.lowers)
        conditions = [*conjunction.filters, *valid_at(conjunction, instant)]
        chain: list[Table] = []
        for link in edge.chain:
            conditions += [*link.filters, *non_empty(link)]
            chain += link.tables
        tables = (*chain, *conjunction.tables)
        if edge.rises_at_end:
            # An inner row with a NULL bound is valid at no instant: no edge, though least skips it.
            conditions += [build.not_null(upper) for upper in last.uppers]
            window = [at_most(instant, frame.t)]
            if frame.tau is not None:
                window = [greater(upper, frame.tau) for upper in last.uppers] + window
            yield self.candidate(tables, instant, [*conditions, *window], base)
            return
        for branch in with_rows(split_by_bound(last.lowers, frame), last.filters, frame.measured):
            reached = [*branch.conditions]
            if frame.tau is None:
                reached = [at_most(low, frame.t) for low in last.lowers]
            reached += texts(ranges_of_chain((conjunction, *edge.chain), branch, frame))
            ordered = narrowed_first(tables, branch, conditions, frame)
            tried = self.candidate(ordered, instant, [*conditions, *reached], base)
            yield hinted(tried, branch, frame)

    def candidate(
        self,
        tables: tuple[Table, ...],
        instant: exp.Expr,
        conditions: list[exp.Expr],
        base: str | None,
    ) -> exp.Select:
        """One select of candidates, from ``tables``, or from the base and those not in it."""
        own = {table.alias for table in self.block.tables}
        if base is None:
            listed = [exp.alias_(key, name) for name, key in self.keys()]
            select = build.select([*listed, *self.structs(), exp.alias_(instant.copy(), AT)])
            select = self.reads.from_clause(select, tables, self.frame)
        else:
            names = [name for name, _ in self.keys()]
            names += [struct.alias for struct in self.structs()]
            columns = [exp.column(name, table="_b") for name in names]
            select = build.select([*columns, exp.alias_(instant.copy(), AT)])
            select = build.add_from(select, build.table(base, "_b"))
            chain = tuple(table for table in tables if table.alias not in own)
            select = self.reads.from_clause(select, chain, self.frame)
        return where(select, conditions)

    # -- checks -------------------------------------------------------------------------------
    def check(
        self,
        part: str,
        tried: str,
        exists: Exists,
        instant: exp.Expr,
        keys: list[tuple[str, exp.Expr]],
        around: tuple[Table, ...] = (),
    ) -> exp.Expr:
        """``[NOT] EXISTS`` at the candidate instant, over the relation _k of candidates.

        ``around`` are the tables of all levels around the subquery, the block's own if it is not
        nested: _k has a struct of each.

        A subquery with subqueries of its own is computed as a relation of witnesses, since Spark
        knows no correlation over two levels: (candidate, inner rows) for which everything holds.
        """
        inner = exists.inner
        if not inner.exists:
            return self.reads.exists(exists, self.frame, valid_at(inner, instant))
        names = [name for name, _ in keys]
        inner_keys = self.keys_of(inner.tables)
        listed: list[exp.Expr] = [exp.column(name, table="_k") for name in [*names, AT]]
        listed += [exp.alias_(key, name) for name, key in inner_keys]
        listed += self.structs_of(inner.tables)
        around = around or self.block.tables
        carried = [struct.alias for struct in self.structs_of(around)]
        listed += [exp.column(name, table="_k") for name in carried]
        select = build.add_from(build.select(listed), build.table(tried, "_k"))
        select = self.reads.from_clause(select, inner.tables, self.frame)
        pairs = self.add(
            f"{part}_pairs", where(select, [*inner.filters, *valid_at(inner, instant)])
        )
        all_keys = [*keys, *inner_keys]
        nested = []
        for n, one in enumerate(inner.exists, start=1):
            over = Exists(one.negated, self.conjunction_over(one.inner, "_k", inner.tables))
            levels = around + inner.tables
            nested.append(self.check(f"{part}_{n}", pairs, over, instant, all_keys, levels))
        witnesses = self.add(
            f"{part}_witnesses",
            where(build.add_from(build.select_all("_k"), build.table(pairs, "_k")), nested),
        )
        same = [_same(name, "_w", "_k") for name in [*names, AT]]
        node: exp.Expr = exp.Exists(
            this=where(build.add_from(build.select_one(), build.table(witnesses, "_w")), same)
        )
        return exp.Not(this=node) if exists.negated else node

    # -- first and earlier --------------------------------------------------------------------
    def union(self, part: str, selects: list[exp.Select]) -> str:
        """Add the UNION ALL of some selects as a CTE; returns its name."""
        return self.add(part, build.union_all(selects))

    def first_of(self, found: str) -> str:
        """One row a derivation: the one with the least instant."""
        names = [exp.column(name, table="_k") for name, _ in self.keys()]
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=names,
            order=exp.Order(expressions=[exp.Ordered(this=exp.column(AT, table="_k"))]),
        )
        ranked = build.add_from(build.select_all("_k"), build.table(found, "_k"))
        ranked.append("expressions", exp.alias_(rank, _RANK))
        relation = build.subquery(ranked, "_r")
        query = build.add_from(build.select_all(), relation)
        least = exp.EQ(this=exp.column(_RANK), expression=exp.Literal.number(1))
        build.add_where(query, [least])
        return self.add("first", query)

    def not_earlier(self, first: str) -> exp.Expr:
        """Return the condition that no candidate at or before tau holds.

        That it lies before the one in the window is known. It is written, because Spark would
        else copy the anti join, on the keys of the window function in ``first_of`` alone, into each
        select that is under it: the plan would grow with the cube of the candidates.
        """
        selects = [
            self.alive(f"{i}", conjunction, first)
            for i, conjunction in enumerate(self.block.disjuncts, start=1)
        ]
        earlier = self.union("earlier", selects)
        same = [_same(name, "_e", "_f") for name, _ in self.keys()]
        same.append(less(exp.column(AT, table="_e"), exp.column(AT, table="_f")))
        inner = where(build.add_from(build.select_one(), build.table(earlier, "_e")), same)
        return exp.Not(this=exp.Exists(this=inner))


def _same(name: str, left: str, right: str) -> exp.Expr:
    return exp.NullSafeEQ(
        this=exp.column(name, table=left), expression=exp.column(name, table=right)
    )
