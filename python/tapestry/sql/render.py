"""Render standard form as SQL over one window: scans, the strategies' selects, one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.names import ARRIVAL, MATCHED_AT, ROW_ID
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.dialects import for_dialect
from tapestry.sql.frame import Frame, greater
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table, ValueTable
from tapestry.sql.order import Assumption, Order
from tapestry.sql.passes.to_standard_form import to_standard_form
from tapestry.sql.scan import Scan
from tapestry.sql.selects import Reads, where
from tapestry.sql.strategy_bounds import fits_bounds, select_by_bounds
from tapestry.sql.strategy_candidates import CandidatePlan, edges

TIME_BEGINS_CTE = "time_begins"


@dataclass(frozen=True)
class Answers:
    """One arm of the outermost UNION ALL in standard form."""

    blocks: tuple[Block, ...]
    by_value: bool


@dataclass
class _Statement:
    """CTEs in order and the selects that follow them."""

    ctes: list[tuple[str, exp.Query]]
    selects: list[exp.Select]


@dataclass(frozen=True)
class Rendering:
    """One query over given scans."""

    parts: tuple[Answers, ...]
    columns: tuple[str, ...]
    catalog: Catalog
    scans: Mapping[str, Scan]
    assumptions: tuple[Assumption, ...]
    dialect: str

    def incremental(self, tau: exp.Expr | None, t: exp.Expr) -> str:
        """Q^I over the window, given as SQL expressions."""
        frame = Frame(tau, t, self.order())
        statement = _Statement([], [])
        for number, part in enumerate(self.parts, start=1):
            self.add_part(statement, part, f"p{number}", frame)
        query: exp.Query = statement.selects[0]
        for select in statement.selects[1:]:
            query = exp.union(query, select, distinct=False, copy=False)
        return self.text(statement.ctes, query)

    def add_part(self, statement: _Statement, part: Answers, prefix: str, frame: Frame) -> None:
        selects = self.selects(statement, part, prefix, frame)
        if not part.by_value or self.unique(part):
            statement.selects += selects
            return
        statement.ctes.append((f"{prefix}_new", _union(selects)))
        named = [_name(name, "_n") for name in self.columns]
        conditions = []
        before = frame.before()
        if before is not None:
            # An answer by value is new iff none of its derivations was an answer at or before tau.
            old = self.selects(statement, part, f"{prefix}_old", before)
            statement.ctes.append((f"{prefix}_old", _union(old)))
            same = [
                exp.NullSafeEQ(this=_name(name, "_o"), expression=_name(name, "_n"))
                for name in self.columns
            ]
            inner = where(exp.select("1").from_(f"{prefix}_old AS _o"), same)
            conditions.append(exp.Not(this=exp.Exists(this=inner)))
        first = exp.alias_(exp.Min(this=exp.column(MATCHED_AT, table="_n")), MATCHED_AT)
        select = exp.select(*named, first).from_(f"{prefix}_new AS _n")
        statement.selects.append(where(select, conditions).group_by(*named))

    def unique(self, part: Answers) -> bool:
        """Does a single block give every value once by itself?"""
        tables = part.blocks[0].tables
        return len(part.blocks) == 1 and len(tables) == 1 and isinstance(tables[0], ValueTable)

    def selects(
        self, statement: _Statement, part: Answers, prefix: str, frame: Frame
    ) -> list[exp.Select]:
        reads = self.reads()
        selects: list[exp.Select] = []
        for number, block in enumerate(part.blocks, start=1):
            if fits_bounds(block):
                selects += select_by_bounds(block, self.columns, frame, reads)
                continue
            plan = CandidatePlan(block, self.columns, frame, reads, f"{prefix}_{number}")
            selects.append(plan.select())
            statement.ctes += plan.ctes
        return selects

    # -- what is read -------------------------------------------------------------------------
    def reads(self) -> Reads:
        names: dict[str, str] = {}
        for source in self.scans:
            name = "read_" + source.rsplit(".", 1)[-1]
            while name in names.values():
                name += "_"
            names[source] = name
        return Reads(names)

    def tables(self) -> Iterator[Table]:
        for part in self.parts:
            for block in part.blocks:
                for conjunction in block.disjuncts:
                    yield from tables_of(conjunction)

    def order(self) -> Order:
        arrivals, written, late = {}, {}, set()
        for table in self.tables():
            if isinstance(table, SourceTable) and table.appended:
                source = self.source(table.source)
                assert source.arrival is not None
                arrivals[table.alias] = source.arrival.lower()
                written[table.alias] = table.written
                if self.scans[table.source].late:
                    late.add(table.alias)
        return Order(arrivals, written, frozenset(late), self.assumptions, self.catalog.time_zone)

    def source(self, name: str) -> Source:
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        return source

    def text(self, ctes: list[tuple[str, exp.Query]], query: exp.Query) -> str:
        """The statement: one CTE a source that applies its scan, the other CTEs, the query."""
        trees = [tree for _, tree in ctes] + [query]
        begins = any(
            table.name == TIME_BEGINS_CTE for tree in trees for table in tree.find_all(exp.Table)
        )
        texts = []
        names = self.reads().names
        for source, columns in self.used_columns(trees, begins).items():
            texts.append(f"{names[source]} AS (\n  {self.read(source, columns)}\n)")
        if begins:
            texts.append(f"{TIME_BEGINS_CTE} AS (\n  {self.time_begins()}\n)")
        for name, tree in ctes:
            body = (
                for_dialect(tree, self.dialect).sql(self.dialect, pretty=True).replace("\n", "\n  ")
            )
            texts.append(f"{name} AS (\n  {body}\n)")
        head = "WITH " + ",\n".join(texts) + "\n" if texts else ""
        return head + for_dialect(query, self.dialect).sql(self.dialect, pretty=True)

    def used_columns(self, trees: list[exp.Query], begins: bool) -> dict[str, list[str]]:
        """source -> names of the columns that the statement reads of it."""
        by_alias = {t.alias: t.source for t in self.tables() if isinstance(t, SourceTable)}
        used: dict[str, dict[str, None]] = {}
        for tree in trees:
            for table in tree.find_all(exp.Table):
                if table.alias in by_alias:
                    used.setdefault(by_alias[table.alias], {})
            for column in tree.find_all(exp.Column):
                source = by_alias.get(column.table)
                if source is not None:
                    used.setdefault(source, {})[column.name] = None
        if begins:
            for source in self.scans:
                if self.source(source).arrival is not None:
                    used.setdefault(source, {})[ARRIVAL] = None
        return {source: list(names) for source, names in used.items()}

    def read(self, source: str, columns: list[str]) -> str:
        scan = self.scans[source]
        special = {ARRIVAL: scan.arrival, ROW_ID: scan.row_id}
        listed = []
        for name in columns:
            if name in special:
                listed.append(f"{special[name]} AS {name}")
            else:
                listed.append(exp.column(name, quoted=not name.isidentifier()).sql(self.dialect))
        return f"SELECT {', '.join(listed) or '1 AS found'} FROM {scan.relation}"

    def time_begins(self) -> str:
        names = self.reads().names
        arms = [
            f"SELECT {ARRIVAL} FROM {names[source]}"
            for source in self.scans
            if self.source(source).arrival is not None
        ]
        return f"SELECT MIN({ARRIVAL}) AS at FROM ({' UNION ALL '.join(arms)}) AS arrivals"


def render_bounds(rendering: Rendering, t: exp.Expr) -> tuple[str, ...]:
    """One SELECT for each bound that may start an answer after t without a new row.

    Those are the lower bounds, the starts of inner intervals at positive polarity and the ends at
    negative polarity.  A bound over one table is looked up there; of one over several tables
    nothing is known beforehand, so that it counts as due at once.
    """
    reads = rendering.reads()
    frame = Frame(None, t, rendering.order())
    texts: dict[str, None] = {}
    for conjunction, bounds in _starting(rendering):
        for bound in bounds:
            aliases = {column.table for column in bound.find_all(exp.Column)}
            owners = {t.alias: t for t in tables_of(conjunction) if t.alias in aliases}
            if bound.find(exp.Query) is not None:
                continue  # the begin of time: not after any arrival that was seen
            if not aliases:
                # the model's begin
                later = exp.If(this=greater(bound, t), true=bound.copy(), false=exp.Null())
                query: exp.Select = exp.select(exp.alias_(later, "due"))
            elif len(aliases) == 1:
                query = exp.select(exp.alias_(exp.Min(this=bound.copy()), "due"))
                query = reads.from_clause(query, tuple(owners.values()), frame)
                query = where(query, [greater(bound, t)])
            else:
                query = exp.select(exp.alias_(t.copy(), "due"))
            texts[rendering.text([], query)] = None
    return tuple(texts)


def _starting(
    rendering: Rendering,
) -> Iterator[tuple[Conjunction, tuple[exp.Expr, ...]]]:
    for part in rendering.parts:
        for block in part.blocks:
            for conjunction in block.disjuncts:
                yield conjunction, conjunction.lowers
                for edge in edges(conjunction):
                    last = edge.last
                    yield conjunction, last.uppers if edge.rises_at_end else last.lowers


def tables_of(conjunction: Conjunction) -> Iterator[Table]:
    """Every table of a conjunction, of its subqueries and of its value tables."""
    for table in conjunction.tables:
        yield table
        if isinstance(table, ValueTable):
            for arm in table.universe:
                for inner in to_standard_form(arm).disjuncts:
                    yield from tables_of(inner)
    for exists in conjunction.exists:
        yield from tables_of(exists.inner)


def _union(selects: list[exp.Select]) -> exp.Query:
    query: exp.Query = selects[0]
    for select in selects[1:]:
        query = exp.union(query, select, distinct=False, copy=False)
    return query


def _name(name: str, table: str) -> exp.Column:
    return exp.column(name, table=table, quoted=not name.isidentifier())
