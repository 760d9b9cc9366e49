"""Render standard form as SQL over one window: scans, the strategies' selects, one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlglot import exp

from tapestry.names import ARRIVAL, MATCHED_AT, ROW_ID
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, ByValue, KeptGroups, Part, evaluated
from tapestry.sql.branches.frame import Frame, greater
from tapestry.sql.branches.join_order import NOT_KNOWN, JoinOrder
from tapestry.sql.branches.measured import Measured
from tapestry.sql.branches.order import Assumption, Order, order_of
from tapestry.sql.branches.selects import Reads, where
from tapestry.sql.catalog import Catalog, Exploded, Source
from tapestry.sql.cumulative.groups import MEMORY_CTE, Groups
from tapestry.sql.cumulative.remember import groups_of, remember
from tapestry.sql.facts.begin import TIME_BEGINS_CTE
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.ir import SourceTable, ValueTable
from tapestry.sql.lifted.render_lifted import KNOWN_CTE, measured
from tapestry.sql.planner.stored_joins import read_joined
from tapestry.sql.scan import JoinScan, KnownAnswers, Scan
from tapestry.sql.statement.exploded_scan import exploded_scan
from tapestry.sql.statement.marks import TAU, T, filled_in, since_of, unused
from tapestry.sql.statement.used_columns import UsedColumns, used_columns
from tapestry.sql.strategies.choose import strategy_for
from tapestry.sql.strategies.place import RenderPlace
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect
from tapestry.sql.write.postgres import Structs, structs_in


@dataclass
class _Statement:
    """CTEs in order and the selects that follow them."""

    ctes: list[tuple[str, exp.Query]]
    selects: list[exp.Select]


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
    """One query, for one dialect and for what is known about late rows; ``first``: tau is -inf.

    ``few``: the rows that the branches narrow their sources to are known to be few; ``at_begin``:
    what was an answer by value at the begin is no new one (``KnownAnswers.at_begin``);
    ``remembers``: running states are at hand (``KnownAnswers.states``); ``uses``: by
    alias, the scans of uses that have one of their own; ``joined``: the same of two uses that are
    read joined; ``unsplit``: no branch is worth its plan, so small are the sources
    (``Scan.little``); ``late_from``: by source, ``Scan.late_from``; ``measured``: of the branches'
    rows, in the window that is filled in.
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    catalog: Catalog
    sources: tuple[str, ...]
    late: frozenset[str]
    assumptions: tuple[Assumption, ...]
    dialect: str
    first: bool
    few: bool = False
    begin: datetime | None = None
    at_begin: bool = False
    remembers: bool = False
    uses: Mapping[str, Scan] = field(default_factory=dict)
    joined: Mapping[tuple[str, str], JoinScan] = field(default_factory=dict)
    unsplit: bool = False
    late_from: Mapping[str, datetime] = field(default_factory=dict)
    joins: JoinOrder = NOT_KNOWN
    measured: Measured | None = None

    def frame(self) -> Frame:
        """The window ``(TAU, T]`` of placeholders."""
        tau = None if self.first else timing.placeholder(TAU)
        t = timing.placeholder(T)
        return Frame(
            tau, t, self.order(), self.few, self.unsplit, joins=self.joins, measured=self.measured
        )

    def incremental(self) -> Body:
        """Q^I over the window."""
        frame = self.frame()
        statement = _Statement([], [])
        for number, part in enumerate(self.parts, start=1):
            self.add_part(statement, part, f"p{number}", frame)
        return self.body(statement.ctes, build.union_all(statement.selects))

    def add_part(self, statement: _Statement, part: Part, prefix: str, frame: Frame) -> None:
        """Add one arm of the outermost UNION ALL to the statement."""
        if isinstance(part, ByValue) and (part.audit or not self.unique(part)):
            self.add_values(statement, part, prefix, frame)
        else:
            statement.selects += self.selects(statement, part, prefix, frame)

    def add_values(self, statement: _Statement, part: ByValue, prefix: str, frame: Frame) -> None:
        """Add an arm whose answers count by value.

        One is new iff none of its derivations was an answer at or before tau. Where the frame is
        unsplit that is seen in all derivations up to t: the first of them lies after tau.
        """
        before, after = frame.before(), frame.tau
        if frame.unsplit and after is not None:
            frame, before = replace(frame, tau=None, few=False), None
        selects = self.selects(statement, part, prefix, frame)
        statement.ctes.append((f"{prefix}_new", build.union_all(selects)))
        columns = [name for n, name in enumerate(self.columns) if n not in part.audit]
        named = [build.column(name, "_n") for name in columns]
        conditions = []
        if before is not None:
            old = self.selects(statement, part, f"{prefix}_old", before)
            statement.ctes.append((f"{prefix}_old", build.union_all(old)))
            same = build.same(
                [build.column(name, "_o") for name in columns],
                [build.column(name, "_n") for name in columns],
            )
            old_answers = build.table(f"{prefix}_old", "_o")
            inner = where(build.add_from(build.select_one(), old_answers), same)
            conditions.append(exp.Not(this=exp.Exists(this=inner)))
        first, place = exp.Min(this=exp.column(MATCHED_AT, table="_n")), self.place(prefix, frame)
        listed = [
            place.audited(part.audit, n, first) if n in part.audit else build.column(name, "_n")
            for n, name in enumerate(self.columns)
        ]
        listed.append(exp.alias_(first, MATCHED_AT))
        select = build.add_from(build.select(listed), build.table(f"{prefix}_new", "_n"))
        select.set("group", exp.Group(expressions=[name.copy() for name in named]))
        if before is None and after is not None:
            select.set("having", exp.Having(this=greater(first, after)))
        statement.selects.append(where(select, conditions))

    def place(self, prefix: str, frame: Frame) -> RenderPlace:
        """Where a block, or an arm by itself, is rendered."""
        begin = None if self.begin is None else timing.literal(self.begin)
        reads = self.reads()
        return RenderPlace(self.columns, frame, reads, prefix, begin, self.at_begin, self.remembers)

    def remembered(self, whole: bool) -> Body:
        """What the window changes of the groups that have running states, or all of these."""
        query, ctes = remember(self.kept(), whole)
        return self.body(ctes, query)

    def kept(self) -> list[Groups]:
        """The arms whose groups have running states, or first rows."""
        frame = self.frame()
        return [
            groups_of(part, self.place(f"p{number}", frame))
            for number, part in enumerate(self.parts, start=1)
            if isinstance(part, KeptGroups)
        ]

    def measures(self) -> Iterator[Body]:
        """For each arm that is evaluated at instants, a SELECT of its keys and row-instants."""
        frame = self.frame()
        for number, part in enumerate(self.parts, start=1):
            if isinstance(part, AtInstants):
                select, ctes = measured(part, self.place(f"p{number}", frame))
                yield self.body(ctes, select)

    def unique(self, part: Part) -> bool:
        """Does a single block give every value once by itself?

        A row of a table of values is found once; so is an answer that lists all of its columns.
        One that leaves a column out, or computes with it, may be that of several rows.
        """
        block, *others = part.blocks
        if others or len(block.tables) != 1 or not isinstance(block.tables[0], ValueTable):
            return False
        listed = {value.name for value in block.select if isinstance(value, exp.Column)}
        return listed >= set(block.tables[0].columns)

    def selects(
        self, statement: _Statement, part: Part, prefix: str, frame: Frame
    ) -> list[exp.Select]:
        """The selects of an arm, or of each of its blocks; their CTEs go to the statement."""
        selects, place = list[exp.Select](), self.place(prefix, frame)
        for number, one in enumerate(evaluated(part), start=1):
            here = place if one is part else replace(place, prefix=f"{prefix}_{number}")
            rendered = strategy_for(one).render(one, here)
            selects += rendered.selects
            statement.ctes += rendered.ctes
        return selects

    # -- what is read -------------------------------------------------------------------------
    def reads(self) -> Reads:
        """Names of the CTEs that apply the scans."""
        names: dict[str, str] = {}
        for source in self.sources:
            names[source] = unused(f"read_{source.rsplit('.', 1)[-1]}", names.values())
        uses: dict[str, str] = {}
        for alias in sorted(self.uses):
            uses[alias] = unused(f"read_for_{alias}", [*names.values(), *uses.values()])
        joined: dict[tuple[str, str], str] = {}
        taken = {table.alias for table in all_tables(self.parts)}
        for pair in sorted(self.joined):
            joined[pair] = alias = unused("_with_".join(pair), taken | uses.keys())
            uses[alias] = unused(f"read_for_{alias}", [*names.values(), *uses.values()])
        return Reads(names, uses, joined)

    def order(self) -> Order:
        """What is known about the bounds in this rendering."""
        order = order_of(self.parts, self.catalog, self.late, self.assumptions)
        since = {
            alias: timing.placeholder(since_of(root))
            for alias, table in order.tables.items()
            if (root := self.catalog.root(table.source)) in self.late_from
        }
        return replace(order, since=since)

    def source(self, name: str) -> Source:
        """A source of the catalog."""
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        return source

    def body(self, ctes: list[tuple[str, exp.Query]], query: exp.Query) -> Body:
        """CTEs and query as text; their trees are used up."""
        trees = [tree for _, tree in ctes] + [query]
        nodes: list[exp.Table | exp.Column] = []
        for tree in trees:
            read = [n for n in tree.walk() if isinstance(n, (exp.Table, exp.Column))]
            nodes += sorted(read, key=lambda node: isinstance(node, exp.Column))
        begins = any(isinstance(n, exp.Table) and n.name == TIME_BEGINS_CTE for n in nodes)
        tables = [t for t in all_tables(self.parts) if isinstance(t, SourceTable)]
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
        scans: Mapping[str, Scan],
        tau: datetime | str | None,
        t: datetime | str,
        known: KnownAnswers | None = None,
    ) -> str:
        """The statement: one CTE a scan that applies it, the other CTEs, the query."""
        reading = self.reads()
        names = reading.names
        # PostgreSQL computes a CTE that is used twice as a whole, past every index, unless told.
        how = "NOT MATERIALIZED " if self.dialect == "postgres" else ""
        reads = [
            f"{names[source]} AS {how}(\n  {self.read(self.scan(source, scans), columns)}\n)"
            for source, columns in body.used.sources.items()
        ]
        reads += [
            f"{reading.uses[alias]} AS {how}(\n  {self.read(self.uses[alias], columns)}\n)"
            for alias, columns in body.used.uses.items()
        ]
        reads += [
            f"{reading.uses[reading.joined[pair]]} AS {how}(\n"
            f"  {read_joined(self.joined[pair], columns, self.dialect)}\n)"
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

    def scan(self, name: str, scans: Mapping[str, Scan]) -> Scan:
        """How a source is read; what a generator makes, from the scan of its base."""
        source = self.source(name)
        if not isinstance(source, Exploded):
            return scans[name]
        base = self.scan(source.base, scans) if source.base else None
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
