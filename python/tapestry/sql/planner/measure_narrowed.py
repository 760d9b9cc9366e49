"""How much each branch narrows its source to: a fact about the data, asked before rendering.

Delta prunes files by their statistics, but Spark plans a join by the size of the whole table: it
would sort and shuffle everything that the few new rows are joined to.  What decides is bytes, not
rows: a hundred thousand bodies of mail do not fit where a million ids do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from sqlglot import exp

from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import Reads, on_of, where
from tapestry.sql.branches.split_by_bound import narrowed_aliases, own_conditions, split_by_bound
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.ir import Block, Conjunction, Part, SourceTable, Table
from tapestry.sql.planner.join_few import AT_MOST
from tapestry.sql.write import build

ROW = 80
"""Bytes that a row takes beside its values where Spark looks rows up by key."""
FIXED = 8
_TEXT = ("string", "varchar", "char", "binary")
_NESTED = ("array", "map", "struct", "variant")


def measure_narrowed(
    parts: Sequence[Part], catalog: Catalog, frame: Frame, reads: Reads
) -> exp.Select | None:
    """A SELECT of the most bytes of rows that a branch narrows a table to; None: no branch.

    Of the columns that the query uses.  Where what they are joined to is sent on too
    (``join_few``), it is reckoned by their number.
    """
    sizes: dict[exp.Select, None] = {}
    for part, block in ((one, block) for one in parts for block in one.blocks):
        used = {(column.table, column.name.lower()) for column in _columns(block)}
        for conjunction, tables in _split(block):
            if len(tables) == 1 and part.lifted is None:
                continue  # nothing is joined to it
            own = conjunction in block.disjuncts  # of a subquery its branches are not led on
            here = frame.within(conjunction.conditions, conjunction.tables) if own else frame
            for branch in split_by_bound(conjunction.lowers, here):
                aliases = narrowed_aliases(branch)
                narrowed = tuple(table for table in tables if table.alias in aliases)
                if not narrowed:
                    continue
                size: exp.Expr = exp.Sum(this=_width(narrowed, used, catalog))
                inner = [table for table in conjunction.tables if on_of(table) is None]
                if further := max(0, len(inner) - 2):
                    size = exp.Mul(this=size, expression=exp.Literal.number(AT_MOST**further))
                one = build.select([exp.alias_(size, "narrowed")])
                one = reads.from_clause(one, narrowed, frame)
                sizes[where(one, own_conditions(conjunction.filters, branch, aliases))] = None
    if not sizes:
        return None
    every = exp.Subquery(this=build.union_all(list(sizes)), alias=exp.TableAlias(this="sizes"))
    most = exp.alias_(exp.Max(this=exp.column("narrowed")), "narrowed")
    return build.add_from(build.select([most]), every)


def _width(tables: Iterable[Table], used: set[tuple[str, str]], catalog: Catalog) -> exp.Expr:
    """About how many bytes a row of these tables takes in memory, with the columns in use."""
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
    """The columns in everything that a part of a standard form says."""
    if isinstance(node, exp.Expr):
        yield from node.find_all(exp.Column)
    elif isinstance(node, tuple):
        for one in node:
            yield from _columns(one)
    elif is_dataclass(node):
        for one in fields(node):
            yield from _columns(getattr(node, one.name))


def _split(block: Block) -> Iterator[tuple[Conjunction, tuple[Table, ...]]]:
    """Every conjunction whose bounds are split, and all tables that are joined."""
    for conjunction in block.disjuncts:
        inner = tuple(table for one in conjunction.exists for table in one.inner.tables)
        yield conjunction, conjunction.tables + inner
        for edge in edges(conjunction):
            if not edge.rises_at_end:
                chain = tuple(table for link in edge.chain for table in link.tables)
                yield edge.last, chain + conjunction.tables
