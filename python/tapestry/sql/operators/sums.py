"""Blocks whose groups follow from counts and sums, which a change updates (maintained, 4).

    GROUP BY, or one row of all    count(*), count(x), count_if(x), sum(x), avg(x), with FILTER

over rows that a change tells with their signs: an inner join, filtered row by row; else any rows
that have a key, of which both versions are compared. A block like that is not computed again: its
counts and sums are kept, those of the rows that came are added, those of the rows that went are
taken off, and a query over it reads the groups that are left.

Exact for whole numbers and DECIMAL alone. A group goes with its last row, for its rows are counted;
a sum is NULL where none of its values is left, for those are counted, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.copies import copied
from tapestry.sql.facts.from_clause import opened
from tapestry.sql.facts.grouping import GROUPINGS, is_aggregate, is_global
from tapestry.sql.ir import SourceTable
from tapestry.sql.operators.block import SelectBlock, is_correlated
from tapestry.sql.operators.choose_key import choose_key
from tapestry.sql.operators.versions import WrittenQuery
from tapestry.sql.read.exact_numbers import DECIMAL, WHOLE, kind_of_number
from tapestry.sql.write import build

ROWS = "_n"
"""The column with the number of rows of a group."""
_GROUP, _COUNT, _SUM, _MEAN, _INPUT = "_g", "_c", "_s", "_m", "_input"


@dataclass(frozen=True)
class SummedBlock:
    """One block.

    groups
        What its rows are grouped by.
    counts, sums
        The counts and the sums that are kept, as Spark computes them. The count of a sum's values
        stands among the counts.
    means
        By the place of a sum: the average that is read from it.
    rows
        Its rows: FROM and WHERE, or a derived table in their place.
    input
        The columns of that derived table, by what they are in the block.
    """

    groups: tuple[exp.Expr, ...]
    counts: tuple[exp.Expr, ...]
    sums: tuple[tuple[exp.Expr, int], ...]
    means: Mapping[int, exp.Expr]
    rows: exp.Select
    input: Mapping[exp.Expr, exp.Column]

    @property
    def is_global(self) -> bool:
        """Whether it gives one row even for no rows."""
        return not self.groups

    @property
    def columns(self) -> list[str]:
        """The columns of ``summing``: the groups, ``ROWS``, the counts, the sums."""
        kinds = ((_GROUP, self.groups), (_COUNT, self.counts), (_SUM, self.sums))
        groups, counts, sums = ([f"{one}{n}" for n in range(1, len(of) + 1)] for one, of in kinds)
        return [*groups, ROWS, *counts, *sums]

    @property
    def values(self) -> list[exp.Expr]:
        """The values of these columns, over the relations of the block."""
        sums = (one for one, _ in self.sums)
        return [*self.groups, exp.Count(this=exp.Star()), *self.counts, *sums]

    def summing(self) -> exp.Select:
        """The counts and sums of each group."""
        query = copied(self.rows)
        values = map(self._over_rows, self.values)
        listed = [
            build.named(value, name) for value, name in zip(values, self.columns, strict=True)
        ]
        query.set("expressions", listed)
        if self.groups:
            query.set("group", exp.Group(expressions=list(map(self._over_rows, self.groups))))
        return query

    def typed(self) -> exp.Select:
        """Return its counts, sums and averages, to find their types."""
        query = self.summing()
        for place, mean in self.means.items():
            query.append("expressions", build.named(self._over_rows(mean), f"{_MEAN}{place}"))
        return query

    def _over_rows(self, part: exp.Expr) -> exp.Expr:
        return replaced(copied(part), self.input)


@dataclass(frozen=True)
class SummedQuery(WrittenQuery):
    """A query over its summed blocks, which it reads as tables called ``names``."""

    blocks: tuple[SummedBlock, ...]

    @property
    def names(self) -> list[str]:
        """Names of the tables of the blocks in ``query``, in their order."""
        return [_name(number) for number in range(len(self.blocks))]

    @property
    def by_rows(self) -> bool:
        """Whether the changed rows of its sources suffice, without keys."""
        nodes = (node for block in self.blocks for node in mentions(block.rows))
        return all(isinstance(node, exp.Table) for node in nodes)

    @property
    def beside(self) -> set[str]:
        """The sources that are read outside of the blocks."""
        found = (table.name for table in self.query.find_all(exp.Table))
        return {self.tables[name].source for name in found if name in self.tables}


def sum_blocks(written: WrittenQuery) -> SummedQuery | None:
    """Replace the outermost blocks that follow from counts and sums; None if there are none."""
    tables = written.tables
    wrapped = build.subquery(copied(written.query), "_all")
    blocks: list[SummedBlock] = []
    todo: list[exp.Expr] = [wrapped]
    while todo:
        node = todo.pop()
        found = _summed(node, tables) if isinstance(node, exp.Select) else None
        if found is None:
            todo.extend(reversed(list(node.iter_expressions())))
            continue
        assert isinstance(node, exp.Select)
        _read_instead(node, found, _name(len(blocks)))
        blocks.append(found)
    if not blocks:
        return None
    return SummedQuery(wrapped.this, tables, written.zone, written.weights, tuple(blocks))


def _name(number: int) -> str:
    return f"_summed_{number + 1}"


def _summed(select: exp.Select, tables: Mapping[str, SourceTable]) -> SummedBlock | None:
    group = select.args.get("group")
    if (group is None and not is_global(select)) or SelectBlock(select).windows:
        return None
    if group is not None and (group.find(*GROUPINGS) or _is_flagged(group)):
        return None
    groups = tuple(dict.fromkeys(one.unnest() for one in (group.expressions if group else ())))
    read = _Aggregates()
    if not all(read.add(one) for one in _own_aggregates(select)):
        return None
    parts = [*groups, *read.counts, *(one for one, _ in read.sums)]
    if any(part.find(exp.Query, exp.Window) or timing.contains_now(part) for part in parts):
        return None
    over = _rows(select, parts, tables)
    if over is None:
        return None
    found = SummedBlock(groups, tuple(read.counts), tuple(read.sums), read.means, *over)
    return found if _tells(select, found) else None


def _is_flagged(group: exp.Expr) -> bool:
    return any(value for name, value in group.args.items() if name != "expressions")


class _Aggregates:
    """The counts and sums from which aggregates are read, each once."""

    def __init__(self) -> None:
        self.counts: list[exp.Expr] = []
        self.sums: list[tuple[exp.Expr, int]] = []
        self.means: dict[int, exp.Expr] = {}

    def add(self, aggregate: exp.Expr) -> bool:
        """Add an aggregate with its FILTER; return False if counts and sums do not give it."""
        bare = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
        value = bare.this
        if isinstance(value, exp.Distinct | exp.Order) or bare.args.get("distinct"):
            return False
        if type(bare) in (exp.Count, exp.CountIf):
            self.count(aggregate)
            return True
        if type(bare) not in (exp.Sum, exp.Avg):
            return False
        kind = kind_of_number(value)
        if kind not in ((DECIMAL, WHOLE) if type(bare) is exp.Sum else (DECIMAL,)):
            return False
        place = self.sum(_instead_of(aggregate, exp.Sum(this=copied(value))), value, aggregate)
        if type(bare) is exp.Avg:
            self.means[place] = aggregate
        return True

    def count(self, counted: exp.Expr) -> int:
        """The place of a count."""
        if counted not in self.counts:
            self.counts.append(counted)
        return self.counts.index(counted)

    def sum(self, summed: exp.Expr, value: exp.Expr, aggregate: exp.Expr) -> int:
        """The place of a sum."""
        values = self.count(_instead_of(aggregate, exp.Count(this=copied(value))))
        if (summed, values) not in self.sums:
            self.sums.append((summed, values))
        return self.sums.index((summed, values))


def _instead_of(aggregate: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Another aggregate under the same FILTER."""
    if not isinstance(aggregate, exp.Filter):
        return other
    return exp.Filter(this=other, expression=copied(aggregate.expression))


def _own_aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregates of a block with their FILTERs, except those in subqueries."""
    for name in ("having", "order"):
        if (clause := select.args.get(name)) is not None:
            yield from _aggregates_in(clause)
    for item in select.selects:
        yield from _aggregates_in(item)


def _aggregates_in(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Filter) or is_aggregate(node):
        yield node
        return
    for part in node.iter_expressions():
        yield from _aggregates_in(part)


def _rows(
    select: exp.Select, parts: Sequence[exp.Expr], tables: Mapping[str, SourceTable]
) -> tuple[exp.Select, Mapping[exp.Expr, exp.Column]] | None:
    """Return the rows of a block whose changes are known with their signs; None if they are not.

    Where they are no inner join, row by row, they are a derived table that is compared by a key.
    """
    rows = copied(select)
    for clause in ("having", "order", "distinct", "limit", "offset", "group", "hint"):
        rows.set(clause, None)
    if rows.args.get("from_") is None or is_correlated(select):
        return None
    if multilinear(rows):
        return (rows, {}) if all(_has_key(one, tables) for one in mentions(rows)) else None
    columns = dict.fromkeys(column for part in parts for column in part.find_all(exp.Column))
    if not columns or timing.contains_now(rows):
        return None
    names = {column: f"{_INPUT}{number}" for number, column in enumerate(columns, start=1)}
    rows.set("expressions", [build.named(copied(one), name) for one, name in names.items()])
    if choose_key(rows, tables) is None:
        return None
    alias = f"{_INPUT}_{SelectBlock(select).relations[0].alias}"
    outer = build.add_from(build.select_all(), build.subquery(rows, alias))
    return outer, {column: build.column(name, alias) for column, name in names.items()}


def multilinear(select: exp.Select) -> bool:
    """Return whether every row is made of one row of each mentioned relation, independently."""
    block = SelectBlock(select)
    relations = block.relations
    if any(
        one.side or one.looked_at or one.kind not in ("", "CROSS", "INNER") for one in relations
    ):
        return False
    clauses = [*block.where, *(part for one in relations for part in one.on)]
    clauses += select.args.get("laterals") or []
    return not any(part.find(exp.Query) or timing.contains_now(part) for part in clauses)


def mentions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the tables and derived tables of an inner join's rows, in order.

    A derived table that is an inner join itself, row by row, stands for what it mentions.
    """
    for relation in SelectBlock(select).relations:
        inner = opened(relation.node.this) if isinstance(relation.node, exp.Subquery) else None
        if isinstance(inner, exp.Select) and _is_row_by_row(inner):
            yield from mentions(inner)
        else:
            yield relation.node


def _is_row_by_row(select: exp.Select) -> bool:
    listed = any(item.find(exp.Query) or timing.contains_now(item) for item in select.selects)
    return SelectBlock(select).plain and multilinear(select) and not listed


def _has_key(node: exp.Expr, tables: Mapping[str, SourceTable]) -> bool:
    """Return whether a mentioned relation is a table, or its versions can be compared by a key."""
    if isinstance(node, exp.Table):
        return node.name in tables
    return not timing.contains_now(node) and choose_key(node.this, tables) is not None


def _read_instead(select: exp.Select, block: SummedBlock, name: str) -> None:
    """Make a block read the table of its counts and sums in place of its rows."""
    _replace(select, block, name)
    having = select.args.get("having")
    for clause in ("where", "having", "group", "joins", "laterals", "hint"):
        select.set(clause, None)
    select.set("from_", exp.From(this=exp.to_table(name)))
    if having is not None:
        build.add_where(select, [having.this])


def _replace(select: exp.Select, block: SummedBlock, name: str) -> None:
    """Write the block's groups and aggregates as columns of the table."""
    columns = dict(zip(block.values, block.columns, strict=True))
    columns |= {mean: f"{_MEAN}{place}" for place, mean in block.means.items()}
    found = {one: build.column(column, name) for one, column in columns.items()}
    for clause in ("expressions", "having", "order"):
        value = select.args.get(clause)
        if isinstance(value, list):
            select.set(clause, [replaced(one, found) for one in value])
        elif value is not None:
            select.set(clause, replaced(value, found))


def replaced(node: exp.Expr, found: Mapping[exp.Expr, exp.Column]) -> exp.Expr:
    """The tree with columns in the place of these parts, the outermost ones; not in subqueries."""
    if node in found:
        return copied(found[node])
    if not isinstance(node, exp.Query):
        for part in list(node.iter_expressions()):
            new = replaced(part, found)
            if new is not part:
                part.replace(new)
    return node


def _tells(select: exp.Select, block: SummedBlock) -> bool:
    """Return whether everything that a block shows is read from its groups, counts and sums."""
    copy = copied(select)
    own = SelectBlock(select).aliases | SelectBlock(select).generated
    _replace(copy, block, _name(0))
    clauses = [*copy.selects, *(copy.args[c] for c in ("having", "order") if copy.args.get(c))]
    return not any(column.table in own for one in clauses for column in one.find_all(exp.Column))
