"""Measures the rows to which each branch narrows its source, before rendering.

Delta prunes files by their statistics, but Spark plans a join by the size of the whole table: it
would sort and shuffle everything that the few new rows are joined to.  What decides is bytes, not
rows: a hundred thousand bodies of mail do not fit where a million ids do.

The least and the greatest values of their columns, which the same statement tells, say which rows
of the other tables they can meet (``measured_ranges``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

from sqlglot import exp

from tapestry.sql.arms import Lifted, OuterArm
from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.measured import NarrowedRows
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
