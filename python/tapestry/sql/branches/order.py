"""Known orders of bounds: which bound never lies after which other one.

A bound of the form ``alias.ts + fixed interval`` or ``alias._arrival`` is an *anchor*: a table, an
offset in microseconds and whether it is the arrival.  A row's arrival is never before its ts, and
equals it unless the row was late; so ``m._arrival`` is not after ``m.ts + 14 days`` for rows in
time only, and a late row's arrival implies nothing (semantics, section 2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tapestry.errors import Refusal
from tapestry.names import ARRIVAL
from tapestry.sql.arms import OuterArm
from tapestry.sql.branches.net import Edge, Net, edges_in, net_of
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.fixed_lengths import DAY, base_and_offset, zone_is_fixed
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.ir import SourceTable, Table
from tapestry.sql.read.read_tokens import read_one


@dataclass(frozen=True)
class Anchor:
    """``alias``'s ts (or arrival) plus ``offset`` microseconds."""

    alias: str
    offset: int
    is_arrival: bool


@dataclass(frozen=True)
class Assumption:
    """An assumption of the author: ``later.ts >= earlier.ts + offset``.

    Both are columns as written: alias and name.
    """

    later: tuple[str, str]
    earlier: tuple[str, str]
    offset: int
    text: str


@dataclass(frozen=True)
class Order:
    """The known orders between the tables of one query.

    arrival_columns
        alias -> arrival column of each append-only table.
    tables
        alias -> table, which says how and where in the author's SQL, of which assumptions speak.
    late
        aliases whose rows may have arrived after their ts in this run.
    net
        Orders of the columns of tables that are joined: what is assumed of two of them; ``within``
        a conjunction what its conditions say, too, and what follows from several.
    since
        alias -> an instant before the ts of each of its rows that arrive after τ, late ones too;
        of tables in ``late`` those of which that is known.
    """

    arrival_columns: Mapping[str, str]
    tables: Mapping[str, SourceTable]
    late: frozenset[str]
    assumptions: tuple[Assumption, ...]
    zone: str
    net: Net = field(default_factory=Net)
    since: Mapping[str, exp.Expr] = field(default_factory=dict)

    def within(self, conditions: Iterable[exp.Expr], tables: Iterable[Table]) -> Order:
        """Return the order with the facts that these conditions add for rows of these tables.

        What is assumed of two tables leads from one to a third only where a row of each is there,
        which is not certain of what is looked up.
        """
        joined = [one.alias for one in tables if isinstance(one, SourceTable) and one.on is None]
        assumed = self._assumed([one for one in joined if one in self.arrival_columns])
        return replace(self, net=net_of([*edges_in(conditions, self.zone), *assumed]))

    def assuming(self) -> Order:
        """Return the order with the assumptions about any two tables."""
        return replace(self, net=Net.of(self._assumed(list(self.arrival_columns))))

    def _assumed(self, aliases: Sequence[str]) -> Iterator[Edge]:
        """Yield the assumptions as edges, each between all tables to which it applies."""
        for known in self.assumptions:
            for later, earlier in permutations(aliases, 2):
                if self.speaks(known, later, earlier):
                    yield self.node(earlier), self.node(later), -known.offset

    def node(self, alias: str) -> tuple[str, str]:
        """Return the alias and the arrival column of a table, as a node."""
        return alias, self.arrival_columns[alias]

    def anchor(self, bound: exp.Expr) -> Anchor | None:
        """The bound as an anchor, or None where it is some other expression."""
        bound, offset = base_and_offset(bound, self.zone)
        if not isinstance(bound, exp.Column):
            return None
        if bound.name == ARRIVAL:
            return Anchor(bound.table, offset, True)
        if self.arrival_columns.get(bound.table) == bound.name and bound.is_type(
            "timestamptz", "timestamp"
        ):
            return Anchor(bound.table, offset, False)
        return None

    def not_after(self, first: exp.Expr, second: exp.Expr) -> bool:
        """Return whether ``first <= second`` for all rows *in time* where neither is NULL."""
        (base, offset), (other, later) = (base_and_offset(b, self.zone) for b in (first, second))
        if base == other:
            return offset <= later  # whatever it is, and however late its row: it is the same
        least = self.net.over(self.node_of(base), self.node_of(other))
        return least is not None and offset + least <= later

    def node_of(self, base: exp.Expr) -> tuple[str, str]:
        """Return the column of a bound as a node; for an arrival its ts, the same for rows in time.

        What is no timestamp of a column is a node of no edge.
        """
        if isinstance(base, exp.Column):
            if base.name == ARRIVAL and base.table in self.arrival_columns:
                return self.node(base.table)
            if base.is_type("timestamptz", "timestamp"):
                return base.table, base.name
        return "", base.sql("spark")

    def speaks(self, known: Assumption, later: str, earlier: str) -> bool:
        """Return whether an assumption applies to these two tables.

        Of those that its aliases mean in one place of the author's SQL: a subquery under EXISTS or
        IN sees a table of the query around it unless a table between has its name; what stands in
        FROM sees none.  So two uses of a view or CTE are not mixed up, with each other or with what
        they are joined with: what is known of each is not known of one beside the other.
        """
        pair = [self.tables.get(alias) for alias in (later, earlier)]
        for table, column in zip(pair, (known.later, known.earlier), strict=True):
            if table is None or column != (table.written, self.arrival_columns.get(table.alias)):
                return False
        outer, inner = sorted((one for one in pair if one is not None), key=lambda t: len(t.place))
        reach = len(outer.place)
        return inner.place[:reach] == outer.place and not any(
            other.written == outer.written
            and len(other.place) > reach
            and inner.place[: len(other.place)] == other.place
            for other in self.tables.values()
        )

    def movable(self, micros: int) -> bool:
        """Return whether an instant can be moved by so much; Spark adds whole days by the
        calendar.
        """
        return abs(micros) < DAY or zone_is_fixed(self.zone)

    def needs_late(self, bound: exp.Expr) -> bool:
        """Return whether the bound can be later than its row's ts implies."""
        anchor = self.anchor(bound)
        return anchor is not None and anchor.is_arrival and anchor.alias in self.late


def order_of(
    arms: Iterable[OuterArm],
    catalog: Catalog,
    late: Collection[str],
    assumptions: tuple[Assumption, ...],
) -> Order:
    """Return the known orders of a query's bounds, if rows of these sources came late."""
    arrivals, tables, aliases = {}, {}, set()
    for table in source_tables(arms):
        tables[table.alias] = table
        if table.appended:
            source = catalog.relations[table.source]
            assert isinstance(source, Source)
            assert source.arrival is not None
            arrivals[table.alias] = source.arrival.lower()
            if table.source in late:
                aliases.add(table.alias)
    order = Order(arrivals, tables, frozenset(aliases), assumptions, catalog.time_zone)
    return order.assuming()


def parse_assumptions(
    texts: Sequence[str], arrivals: Mapping[str, set[str]], zone: str
) -> tuple[Assumption, ...]:
    """Read ``r.ts >= m.ts [+ interval]``; ``arrivals`` is alias as written -> arrival columns.

    Raises Refusal for an assumption of another form, or about something else than arrival columns.
    """
    return tuple(_parse_one(text, arrivals, zone) for text in texts)


def _parse_one(text: str, arrivals: Mapping[str, set[str]], zone: str) -> Assumption:
    hint = "write it as r.ts >= m.ts, with the aliases of the model's SQL and arrival columns"
    try:
        tree = read_one(text)
    except SqlglotError as error:
        raise Refusal(
            "an assumption could not be read", text, hint, code="odd-assumption"
        ) from error
    if isinstance(tree, exp.LT | exp.LTE):
        flipped = exp.GT if isinstance(tree, exp.LT) else exp.GTE
        tree = flipped(this=tree.expression, expression=tree.this)
    if not isinstance(tree, exp.GT | exp.GTE):
        raise Refusal(
            "an assumption is a comparison of two arrival columns",
            text,
            hint,
            code="odd-assumption",
        )
    sides = []
    for side in (tree.this, tree.expression):
        column, offset = base_and_offset(side, zone)
        if isinstance(column, exp.Add | exp.Sub):
            raise Refusal(
                "an assumption may add an interval of fixed length only",
                text,
                hint,
                code="odd-assumption",
            )
        alias, name = column.text("table").lower(), column.name.lower()
        if not isinstance(column, exp.Column) or name not in arrivals.get(alias, ()):
            raise Refusal(
                "an assumption speaks of what is no arrival column here",
                text,
                hint,
                code="odd-assumption",
            )
        sides.append(((alias, name), offset))
    (later, before), (earlier, after) = sides
    offset = after - before + isinstance(tree, exp.GT)
    return Assumption(later, earlier, offset, text)
