"""A statement as a text: its CTEs that apply the scans, and the columns that these read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlglot import exp

from tapestry.instants import FIRST, MICRO
from tapestry.names import ARRIVAL, ROW_ID
from tapestry.sql import timing
from tapestry.sql.arms import OuterArm
from tapestry.sql.branches.order import Assumption
from tapestry.sql.branches.selects import Reads
from tapestry.sql.catalog import OF, Catalog, Exploded, Source
from tapestry.sql.cumulative.groups import MEMORY_CTE
from tapestry.sql.facts import keys
from tapestry.sql.facts.arrivals import TIME_BEGINS_CTE
from tapestry.sql.facts.walk import all_tables, source_tables
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT
from tapestry.sql.lifted.render_lifted import KNOWN_CTE
from tapestry.sql.planner.stored_joins import read_joined
from tapestry.sql.scan import Form, KnownAnswers, Scan
from tapestry.sql.statement.reading import QueryReading
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect
from tapestry.sql.write.postgres import Structs, structs_in

TAU, T = timing.mark("tau"), timing.mark("t")
"""Stand for the window's ends in a rendered body."""
_MADE = "_made"


@dataclass(frozen=True)
class UsedColumns:
    """Names of columns in order of first use.

    By source; by alias for a use with its own scan; by both aliases for uses that are read joined.
    """

    sources: Mapping[str, tuple[str, ...]]
    uses: Mapping[str, tuple[str, ...]]
    joined: Mapping[tuple[str, str], tuple[str, ...]]


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
class Statement:
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
        tables = source_tables(self.arms)
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


def used_columns(
    nodes: Iterable[exp.Table | exp.Column],
    tables: Iterable[SourceTable],
    reads: Reads,
    catalog: Catalog,
    dated: Iterable[str] = (),
) -> UsedColumns:
    """Return the columns that a statement's nodes read; ``tables`` are its query's uses.

    ``dated``: sources whose arrivals are read besides.
    """
    by_alias: dict[str, dict[str, None]] = {}
    for table in tables:
        by_alias.setdefault(table.alias, {})[table.source] = None
    pairs = {alias: pair for pair, alias in reads.joined.items()}
    used: dict[str, dict[str, None]] = {}
    apart: dict[str, dict[str, None]] = {}
    joined: dict[tuple[str, str], dict[str, None]] = {}
    for node in nodes:
        alias = node.alias if isinstance(node, exp.Table) else node.table
        is_column = isinstance(node, exp.Column) and node.name != AT
        if alias in pairs:
            names = joined.setdefault(pairs[alias], {})
            if is_column:
                names[node.name] = None
        for source in by_alias.get(alias, ()):
            of_alias = alias in reads.uses
            names = apart.setdefault(alias, {}) if of_alias else used.setdefault(source, {})
            if is_column and _has(catalog, source, node.name):
                names[node.name] = None
    for source in dated:
        used.setdefault(source, {})[ARRIVAL] = None
    return UsedColumns(
        {name: tuple(names) for name, names in used.items()},
        {alias: tuple(names) for alias, names in apart.items()},
        {pair: tuple(names) for pair, names in joined.items()},
    )


def _has(catalog: Catalog, name: str, column: str) -> bool:
    """Return whether a source may have the column; generated columns are none of the base."""
    if not column.startswith("_g"):
        return True
    source, made = catalog.relations[name], list[str]()
    while isinstance(source, Exploded):
        made += [source.place, source.row, *source.values]
        if not source.base:
            break
        source = catalog.relations[source.base]
    return column in made or (
        isinstance(source, Source) and any(column == one.name for one in source.columns)
    )


def exploded_scan(source: Exploded, base: Scan | None, dialect: str) -> Scan:
    """Return a scan of the rows generated from ``base``; from a single row if it is None.

    The row id is that of the base and the place beside it. Columns that are not used cost nothing:
    the statement lists those that are, and engines read no others.
    """
    place = exp.column(source.place, table=_MADE)
    part = keys.perhaps(keys.of_row(place)) if source.outer else keys.of_row(place)
    own = [exp.column(name, table=_MADE) for name in (source.place, *source.values)]
    whole = exp.Column(this=exp.Star(), table=exp.to_identifier(OF))
    items: list[exp.Expr] = [*own] if base is None else [whole, *own]
    select = exp.Select(expressions=items)
    select.set("from_", exp.From(this=_base(source, base)))
    names = [exp.to_identifier(name) for name in (source.place, *source.values)]
    alias = exp.TableAlias(this=exp.to_identifier(_MADE), columns=names)
    call = exp.Posexplode(this=source.argument.copy())
    select.set("laterals", [exp.Lateral(this=call, view=True, outer=source.outer, alias=alias)])
    relation = for_dialect(select, dialect).sql(dialect)
    number = for_dialect(part, dialect).sql(dialect).replace(f"{_MADE}.", "")
    row_id = number if base is None else f"{source.row} || '.' || {number}"
    arrival = None if base is None or base.arrival is None else ARRIVAL
    return Scan(f"({relation})", arrival, row_id, late=base is not None and base.late)


def _base(source: Exploded, base: Scan | None) -> exp.Expr:
    """The base as a derived table, its row id under a name of its own."""
    alias = exp.TableAlias(this=exp.to_identifier(OF))
    if base is None:
        one = build.select([exp.alias_(exp.Literal.number(1), "one")])
        return exp.Subquery(this=one, alias=alias)
    # The texts of a scan stand in the statement as they are.
    listed: list[exp.Expr] = [exp.Star()]
    if base.arrival is not None and base.arrival != ARRIVAL:
        listed.append(exp.alias_(exp.Var(this=base.arrival), ARRIVAL))
    listed.append(exp.alias_(exp.Var(this=f"CAST({base.row_id} AS STRING)"), source.row))
    select = build.select(listed)
    select.set("from_", exp.From(this=exp.Var(this=f"{base.relation}")))
    return exp.Subquery(this=select, alias=alias)


def since_of(source: str) -> str:
    """Return the mark for the instant before the ts of all rows of a source that arrive after
    tau.
    """
    return timing.mark(f"since {sha256(source.encode()).hexdigest()[:16]}")


def filled_in(
    text: str,
    tau: datetime | str | None,
    t: datetime | str,
    late_from: Mapping[str, datetime],
) -> str:
    """Return the text with the window's ends and instants before late rows (``Scan.late_from``)."""
    if tau is not None:
        text = text.replace(TAU, timing.text_of(tau))
    for source, least in late_from.items():
        assert isinstance(tau, datetime)
        text = text.replace(since_of(source), timing.text_of(min(tau, least - MICRO)))
    return text.replace(T, timing.text_of(t))


def unused(wanted: str, taken: Iterable[str]) -> str:
    """Return a free name for a CTE, as names are not quoted in texts."""
    # sql: letters, digits and _ are left
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
    while name in taken:
        name += "_"
    return name
