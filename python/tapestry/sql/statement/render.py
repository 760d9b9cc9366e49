"""Render standard form as SQL over one window: scans, the strategies' selects, one statement."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlglot import exp

from tapestry.instants import FIRST
from tapestry.names import ARRIVAL, MATCHED_AT, ROW_ID
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, ByValue, KeptGroups, OuterArm, evaluated
from tapestry.sql.branches.frame import Frame, greater
from tapestry.sql.branches.order import Assumption, Order, order_of
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.branches.selects import Reads, where
from tapestry.sql.catalog import Catalog, Exploded, Source
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.cumulative.groups import MEMORY_CTE, Groups
from tapestry.sql.cumulative.remember import groups_of, remember
from tapestry.sql.facts.begin import TIME_BEGINS_CTE
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.ir import SourceTable, ValueTable
from tapestry.sql.lifted.render_lifted import KNOWN_CTE, measured
from tapestry.sql.planner.stored_joins import read_joined
from tapestry.sql.scan import Form, KnownAnswers, Scan
from tapestry.sql.statement.exploded_scan import exploded_scan
from tapestry.sql.statement.marks import TAU, T, filled_in, since_of, unused
from tapestry.sql.statement.reading import QueryReading
from tapestry.sql.statement.used_columns import UsedColumns, used_columns
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect
from tapestry.sql.write.postgres import Structs, structs_in


@dataclass(frozen=True)
class Body:
    """A rendered statement without its scans; the window's ends are placeholders in it.

    ``used`` are the columns that it reads.
    """

    used: UsedColumns
    begins: bool
    ctes: tuple[str, ...]
    query: str
    given: frozenset[str] = frozenset()
    """The CTEs that stand for what is known of the runs before."""


@dataclass(frozen=True)
class Rendering:
    """One query, for one dialect, of one form and reading."""

    arms: tuple[OuterArm, ...]
    columns: tuple[str, ...]
    catalog: Catalog
    sources: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    begin: datetime | None
    dialect: str
    form: Form
    reading: QueryReading

    @property
    def late(self) -> frozenset[str]:
        """The sources of which rows may be late."""
        scans, roots = self.reading.scans, {name: self.catalog.root(name) for name in self.sources}
        return frozenset(name for name, root in roots.items() if root and scans[root].late)

    @property
    def late_from(self) -> Mapping[str, datetime]:
        """By source, the instant before which no late row lies (``Scan.late_from``)."""
        if self.form.first:
            return {}
        found = {name: scan.late_from for name, scan in self.reading.scans.items() if scan.late}
        return {name: least for name, least in found.items() if least and least > FIRST}

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

    # -- what is read -------------------------------------------------------------------------
    def reads(self) -> Reads:
        """Names of the CTEs that apply the scans."""
        names: dict[str, str] = {}
        for source in self.sources:
            names[source] = unused(f"read_{source.rsplit('.', 1)[-1]}", names.values())
        uses: dict[str, str] = {}
        for alias in sorted(self.reading.apart):
            uses[alias] = unused(f"read_for_{alias}", [*names.values(), *uses.values()])
        joined: dict[tuple[str, str], str] = {}
        taken = {table.alias for table in all_tables(self.arms)}
        for pair in sorted(self.reading.joined):
            joined[pair] = alias = unused("_with_".join(pair), taken | uses.keys())
            uses[alias] = unused(f"read_for_{alias}", [*names.values(), *uses.values()])
        return Reads(names, uses, joined)

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

    def source(self, name: str) -> Source:
        """A source of the catalog."""
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        return source

    def body(self, ctes: Sequence[tuple[str, exp.Query]], query: exp.Query) -> Body:
        """CTEs and query as text; their trees are used up."""
        trees = [tree for _, tree in ctes] + [query]
        nodes: list[exp.Table | exp.Column] = []
        for tree in trees:
            read = [n for n in tree.walk() if isinstance(n, (exp.Table, exp.Column))]
            nodes += sorted(read, key=lambda node: isinstance(node, exp.Column))
        begins = any(isinstance(n, exp.Table) and n.name == TIME_BEGINS_CTE for n in nodes)
        tables = [t for t in all_tables(self.arms) if isinstance(t, SourceTable)]
        dated = self.growing() if begins else ()
        used = used_columns(nodes, tables, self.reads(), self.catalog, dated)
        structs = structs_in(trees) if self.dialect == "postgres" else {}
        texts = []
        if begins:
            texts.append(f"{TIME_BEGINS_CTE} AS (\n  {self.time_begins()}\n)")
        for name, tree in ctes:
            # A line may end inside of a text or a name, which spaces would change.
            broken = any("\n" in node.name for node in tree.find_all(exp.Literal, exp.Identifier))
            text = self.sql(tree, structs)
            indented = text if broken else text.replace("\n", "\n  ")
            texts.append(f"{name} AS (\n  {indented}\n)")
        named = {n.name for n in nodes if isinstance(n, exp.Table)}
        given = frozenset(named & {KNOWN_CTE, MEMORY_CTE})
        return Body(used, begins, tuple(texts), self.sql(query, structs), given)

    def sql(self, tree: exp.Expr, structs: Structs) -> str:
        """The tree in this rendering's dialect; it is used up, for nothing in it is shared."""
        adapted = for_dialect(tree, self.dialect, structs, copy=False)
        return adapted.sql(self.dialect, pretty=True, copy=False)

    def finish(
        self,
        body: Body,
        tau: datetime | str | None,
        t: datetime | str,
        known: KnownAnswers | None = None,
    ) -> str:
        """The statement: one CTE a scan that applies it, the other CTEs, the query."""
        named, one = self.reads(), self.reading
        # By default PostgreSQL computes a CTE that is used twice completely, without an index.
        how = "NOT MATERIALIZED " if self.dialect == "postgres" else ""
        reads = [
            f"{named.names[source]} AS {how}(\n  {self.read(self.scan(source), columns)}\n)"
            for source, columns in body.used.sources.items()
        ]
        reads += [
            f"{named.uses[alias]} AS {how}(\n  {self.read(one.apart[alias], columns)}\n)"
            for alias, columns in body.used.uses.items()
        ]
        reads += [
            f"{named.uses[named.joined[pair]]} AS {how}(\n"
            f"  {read_joined(one.joined[pair], columns, self.dialect)}\n)"
            for pair, columns in body.used.joined.items()
        ]
        if known is not None:
            given = {KNOWN_CTE: known.relation, MEMORY_CTE: known.states}
            reads += [
                f"{name} AS (\n  SELECT * FROM {relation}\n)"
                for name, relation in given.items()
                if name in body.given
            ]
        ctes = [*reads, *body.ctes]
        text = ("WITH " + ",\n".join(ctes) + "\n" if ctes else "") + body.query
        return filled_in(text, tau, t, self.late_from)

    def scan(self, name: str) -> Scan:
        """Return the scan of a source; for one that a generator makes, from that of its base."""
        source = self.source(name)
        if not isinstance(source, Exploded):
            return self.reading.scans[name]
        base = self.scan(source.base) if source.base else None
        return exploded_scan(source, base, self.dialect)

    def read(self, scan: Scan, columns: tuple[str, ...]) -> str:
        """The body of the CTE that applies a scan."""
        special = {ARRIVAL: scan.arrival, ROW_ID: scan.row_id}
        listed = []
        for name in columns:
            if name in special:
                listed.append(f"{special[name]} AS {name}")
            else:
                listed.append(build.column(name).sql(self.dialect))
        return f"SELECT {', '.join(listed) or '1 AS found'} FROM {scan.relation}"

    def growing(self) -> Iterator[str]:
        """The sources with an arrival, apart from what generators make of them."""
        for name in self.sources:
            source = self.source(name)
            if source.arrival is not None and not isinstance(source, Exploded):
                yield name

    def time_begins(self) -> str:
        """The body of the CTE that gives the earliest arrival in any source."""
        names = self.reads().names
        arms = [f"SELECT {ARRIVAL} FROM {names[source]}" for source in self.growing()]
        return f"SELECT MIN({ARRIVAL}) AS at FROM ({' UNION ALL '.join(arms)}) AS arrivals"
