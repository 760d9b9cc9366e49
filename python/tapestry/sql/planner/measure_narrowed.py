"""Measures the rows to which each branch narrows its source, before rendering.

Delta prunes files by their statistics, but Spark plans a join by the size of the whole table: it
would sort and shuffle everything that the few new rows are joined to.  What decides is bytes, not
rows: a hundred thousand bodies of mail do not fit where a million ids do.

The least and the greatest values of their columns, which the same statement tells, say which rows
of the other tables they can meet (``measured_ranges``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from tapestry.sql.arms import Lifted, OuterArm
from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.measured import ColumnEnds, Measured, NarrowedRows
from tapestry.sql.branches.selects import Reads, on_of, where
from tapestry.sql.branches.split_by_bound import (
    narrowed_aliases,
    own_conditions,
    rows_of,
    split_by_bound,
)
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.infer.imply import MOST, Knowledge
from tapestry.sql.infer.kinds import ValueKind
from tapestry.sql.infer.terms import Key
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table
from tapestry.sql.planner.join_few import AT_MOST
from tapestry.sql.planner.measured_ranges import kinds_of
from tapestry.sql.scan import Window
from tapestry.sql.write import build

ROW = 80
"""Bytes that a row takes beside its values where Spark looks rows up by key."""
FIXED = 8
BYTES = "_bytes"
Place = tuple[Reads, Frame]
_TEXT = ("string", "varchar", "char", "binary")
_NESTED = ("array", "map", "struct", "variant")


@dataclass(frozen=True)
class MeasuredTables:
    """The tables of which more than bytes is measured, in ``blocks`` that make use of it.

    exact
        The sources whose scans give the very rows that the run will read; None: all of them.
    """

    blocks: Callable[[Block], bool]
    exact: frozenset[str] | None = None

    def tables(self, narrowed: tuple[Table, ...], catalog: Catalog) -> bool:
        """Return whether a branch narrows one table of such a source, not a look-up."""
        table = narrowed[0]
        if len(narrowed) != 1 or not isinstance(table, SourceTable) or table.on is not None:
            return False
        return self.exact is None or catalog.root(table.source) in self.exact


@dataclass(frozen=True)
class BranchRows:
    """The measured values of the rows to which a branch narrows its tables.

    rows
        What they are known by; None: nothing but their bytes is measured.
    ends
        The columns whose least and greatest values are, by their types.
    factor
        So many times their bytes count.
    """

    tables: tuple[Table, ...]
    conditions: tuple[exp.Expr, ...]
    factor: int = 1
    rows: NarrowedRows | None = None
    ends: tuple[tuple[str, ValueKind], ...] = ()

    def beside(self, other: BranchRows) -> BranchRows:
        """Return the same rows with the measured values of both."""
        ends = tuple(dict.fromkeys((*self.ends, *other.ends)))
        rows, factor = self.rows or other.rows, max(self.factor, other.factor)
        return replace(self, rows=rows, ends=ends, factor=factor)

    def select(
        self, listed: Iterable[exp.Expr], used: set[tuple[str, str]], catalog: Catalog, to: Place
    ) -> exp.Select:
        """Return a SELECT of each row's bytes in the columns in use, and of the listed values."""
        size = _width(self.tables, used, catalog)
        reads, frame = to
        select = build.select([exp.alias_(size, BYTES), *listed])
        return where(reads.from_clause(select, self.tables, frame), self.conditions)


def measured_rows(
    arms: Sequence[OuterArm], catalog: Catalog, frame: Frame, wanted: MeasuredTables
) -> tuple[BranchRows, ...]:
    """Return the measured values of each branch's rows; () if no branch narrows a table.

    Where what they are joined to is sent on too (``join_few``), it is reckoned by their number.
    """
    found: dict[object, BranchRows] = {}
    for arm, block in ((one, block) for one in arms for block in one.blocks):
        asks = not isinstance(arm, Lifted) and wanted.blocks(block)
        chained = _chained_columns(block, frame.order.zone) if asks else {}
        for conjunction, tables in _split(block):
            if len(tables) == 1 and not isinstance(arm, Lifted):
                continue  # nothing is joined to it
            own = conjunction in block.disjuncts  # of a subquery its branches are not led on
            here = frame.within(conjunction.conditions, conjunction.tables) if own else frame
            inner = [table for table in conjunction.tables if on_of(table) is None]
            for branch in split_by_bound(conjunction.lowers, here):
                aliases = narrowed_aliases(branch)
                narrowed = tuple(table for table in tables if table.alias in aliases)
                if not narrowed:
                    continue
                conditions = tuple(own_conditions(conjunction.filters, branch, aliases))
                one = BranchRows(narrowed, conditions, AT_MOST ** max(0, len(inner) - 2))
                if asks and wanted.tables(narrowed, catalog):
                    ends = chained.get(narrowed[0].alias, ())
                    one = replace(one, rows=rows_of(conjunction.filters, branch), ends=ends)
                key = (narrowed, frozenset(conditions))
                found[key] = one.beside(found[key]) if key in found else one
    return tuple(found.values())


def used_columns(arms: Iterable[OuterArm]) -> set[tuple[str, str]]:
    """The columns that the blocks of a query use, by alias and name."""
    columns = (column for arm in arms for block in arm.blocks for column in _columns(block))
    return {(column.table, column.name.lower()) for column in columns}


def _width(tables: Iterable[Table], used: set[tuple[str, str]], catalog: Catalog) -> exp.Expr:
    """Return the bytes of a row of these tables in memory, estimated from the columns in use."""
    fixed, lengths = ROW, list[exp.Expr]()
    for table in tables:
        if not isinstance(table, SourceTable):
            fixed += ROW * len(table.columns)
            continue
        source = catalog.relations[table.source]
        assert isinstance(source, Source)
        for column in source.columns:
            if (table.alias, column.name.lower()) not in used:
                continue
            value: exp.Expr = build.column(column.name, table.alias)
            fixed += FIXED
            if column.type.startswith(_NESTED):
                value = exp.Cast(this=value, to=exp.DataType.build("text"))
            elif not column.type.startswith(_TEXT):
                continue
            zero = exp.Literal.number(0)
            lengths.append(exp.Coalesce(this=exp.Length(this=value), expressions=[zero]))
    total: exp.Expr = exp.Literal.number(fixed)
    for one in lengths:
        total = exp.Add(this=total, expression=one)
    return total


def _columns(node: object) -> Iterator[exp.Column]:
    """Yield the columns in all expressions of a part of a standard form."""
    if isinstance(node, exp.Expr):
        yield from node.find_all(exp.Column)
    elif isinstance(node, tuple):
        for one in node:
            yield from _columns(one)
    elif is_dataclass(node):
        for one in fields(node):
            yield from _columns(getattr(node, one.name))


def _split(block: Block) -> Iterator[tuple[Conjunction, tuple[Table, ...]]]:
    """Yield every conjunction whose bounds are split, with all tables that are joined."""
    for conjunction in block.disjuncts:
        inner = tuple(table for one in conjunction.exists for table in one.inner.tables)
        yield conjunction, conjunction.tables + inner
        for edge in edges(conjunction):
            if not edge.rises_at_end:
                chain = tuple(table for link in edge.chain for table in link.tables)
                yield edge.last, chain + conjunction.tables


def _chained_columns(block: Block, zone: str) -> dict[str, tuple[tuple[str, ValueKind], ...]]:
    """Return, by alias, the columns that conditions chain to a column of another table.

    All conditions of a disjunct count, including those of its subqueries and look-ups.
    """
    found: dict[str, dict[str, ValueKind]] = {}
    for conjunction in block.disjuncts:
        conditions = tuple(dict.fromkeys(_conditions(conjunction)))
        if len(conditions) > MOST:
            continue
        kinds = kinds_of(conditions)
        for chain in _chains(Knowledge(conditions, zone)):
            if len({alias for alias, _ in chain}) > 1:
                for alias, name in sorted(chain):
                    found.setdefault(alias, {})[name] = kinds[alias, name]
    return {alias: tuple(columns.items()) for alias, columns in found.items()}


def _chains(knowledge: Knowledge) -> list[set[Key]]:
    """Return sets of columns that conditions connect, directly or through others."""
    chains: list[set[Key]] = []
    for one in knowledge.constraints.values():
        near, far = set(one.columns), list[set[Key]]()
        for chain in chains:
            if near & chain:
                near |= chain
            else:
                far.append(chain)
        chains = [*far, near]
    return chains


def _conditions(conjunction: Conjunction) -> Iterator[exp.Expr]:
    yield from conjunction.filters
    for table in conjunction.tables:
        yield from on_of(table) or ()
    for exists in conjunction.exists:
        yield from _conditions(exists.inner)


# -- the statement that measures, and its result --------------------------------------------------
PLACE = "_place"
_EPOCH = "1970-01-01"
_WHOLE = "bigint"
Ends = tuple[tuple[str, ValueKind], ...]


@dataclass(frozen=True)
class Measurement:
    """A statement that measures, for a window, the values that are ``asked`` for."""

    asked: tuple[BranchRows, ...]
    window: Window
    sql: str

    def read(self, rows: Iterable[Sequence[object]]) -> Measured:
        """Return the measured values in the statement's rows; wrong types are unknown values."""
        found = {int(str(row[0])): row for row in rows}
        columns = columns_of([one.ends for one in self.asked])
        ends: dict[NarrowedRows, tuple[ColumnEnds, ...]] = {}
        none = set()
        for place, one in enumerate(self.asked):
            if one.rows is None:
                continue
            if place not in found:
                none.add(one.rows)
                continue
            values = [exact(value) for value in found[place][2:]]
            spots = [columns.index(spot) for spot in spots_of(one.ends)]
            ends[one.rows] = tuple(
                ColumnEnds(name, values[2 * spot], values[2 * spot + 1])
                for (name, _), spot in zip(one.ends, spots, strict=True)
            )
        sizes = (int(str(row[1])) * self.asked[place].factor for place, row in found.items())
        size = max(sizes, default=0)
        return Measured(self.window, size, ends, frozenset(none))


def statement(
    asked: Sequence[BranchRows],
    used: set[tuple[str, str]],
    catalog: Catalog,
    reads: Reads,
    frame: Frame,
) -> exp.Select:
    """Return the SELECT of a ``Measurement``; ``used`` are the columns whose bytes count.

        SELECT _place, SUM(_bytes), MIN(_v1), MAX(_v1), ... FROM (
          SELECT 0 AS _place, <bytes> AS _bytes, r1.amount AS _v1, ... FROM r1 WHERE <of branch 1>
          UNION ALL SELECT 1, ...) GROUP BY _place

    Values of one type share a column. What is whole is measured as a BIGINT: days of a DATE and
    microseconds of a TIMESTAMP, which no time zone changes. A place without a row in the result has
    no row at all; NULL says that all values are; NaN, which is the greatest, that there is no last
    one.
    """
    columns = columns_of([one.ends for one in asked])
    arms = []
    for place, one in enumerate(asked):
        of = dict(zip(spots_of(one.ends), one.ends, strict=True))
        listed: list[exp.Expr] = [exp.alias_(exp.Literal.number(place), PLACE)]
        for number, (kind, copy) in enumerate(columns, start=1):
            value: exp.Expr = exp.cast(exp.null(), kind)
            if (kind, copy) in of:
                value = _measured(one.tables[0].alias, *of[kind, copy])
            listed.append(exp.alias_(value, f"_v{number}"))
        arms.append(one.select(listed, used, catalog, (reads, frame)))
    wanted: list[exp.Expr] = [exp.column(PLACE), exp.Sum(this=exp.column(BYTES))]
    for number in range(1, len(columns) + 1):
        wanted += [exp.Min(this=exp.column(f"_v{number}")), exp.Max(this=exp.column(f"_v{number}"))]
    named = [exp.alias_(one, f"_c{number}") for number, one in enumerate(wanted)]
    every = build.subquery(build.union_all(arms), "_narrowed")
    select = build.add_from(build.select(named), every)
    select.set("group", exp.Group(expressions=[exp.column(PLACE)]))
    return select


Spot = tuple[str, int]
"""A type, and which of the columns of that type."""


def spots_of(ends: Ends) -> list[Spot]:
    """Return the places of some columns' values in a row: their type and a number."""
    seen: Counter[str] = Counter()
    spots = []
    for _, kind in ends:
        name = type_name(kind)
        spots.append((name, seen[name]))
        seen[name] += 1
    return spots


def columns_of(every: Iterable[Ends]) -> list[Spot]:
    """Return the columns that are measured: as many of a type as one place needs."""
    return list(dict.fromkeys(spot for ends in every for spot in spots_of(ends)))


def type_name(kind: ValueKind) -> str:
    """Return the type in which values of a kind are measured."""
    if kind.family == "decimal":
        return f"decimal({kind.precision},{kind.scale})"
    return "double" if kind.family == "double" else _WHOLE


def exact(value: object) -> int | Fraction | None:
    """Return a number exactly; None for a value that is no finite number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else None


def _measured(alias: str, name: str, kind: ValueKind) -> exp.Expr:
    column: exp.Expr = build.column(name, alias)
    if kind.family in ("decimal", "double"):
        return column
    if kind.family == "timestamp":
        column = exp.UnixMicros(this=column)
    elif kind.family == "date":
        begin = exp.cast(exp.Literal.string(_EPOCH), "date")
        column = exp.DateDiff(this=column, expression=begin)
    return exp.cast(column, _WHOLE)
