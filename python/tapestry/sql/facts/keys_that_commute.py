"""Finds keys of a query: columns that partition its rows (aggregates, section 2).

A key K commutes: the rows of the query with K = κ depend on the rows with K = κ of the *covered*
uses of tables, and on all rows of the others. What changes for κ is then evaluated over the rows of
κ alone. Every mention of a table is a use of its own, with an alias that no other one has.

Sound because each rule keeps ``σ_κ(Q(D)) = σ_κ(Q(D with the covered uses cut to κ))``: a group, a
partition, a value that is told from others by a column of K holds rows of one κ only, and an
equality that every row fulfils carries κ from a table to another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.from_clause import encloses_relation, opened
from tapestry.sql.facts.grouping import GROUPINGS, is_global, is_limited, own_parts
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.ir import SourceTable

Column = tuple[str, str]
"""The alias of a relation, and the name of a column of it (or the text of an expression)."""
Covered = dict[str, exp.Expr]
"""The alias of a use of a source -> what carries a component of the key: a column, or an expression
over its columns, by which the query groups: a column of it that is not written down."""
LONGEST = 4
"""So many components has a key at most: more make no group that much smaller."""
UNCUT = ("map", "variant", "interval", "object")
"""Types that no row is looked up by."""


def find_keys(
    tree: exp.Query, tables: Mapping[str, SourceTable]
) -> dict[str, tuple[exp.Expr, ...]]:
    """Return the expressions of the key, by alias of the covered use; empty for K = ().

    Of all components those that cover most uses are taken; of these, all, up to ``LONGEST``.
    """
    found = [one for one in Finder(tables).components(tree) if one]
    if not found:
        return {}
    best = max(found, key=len)
    chosen: list[Covered] = []
    for one in found:
        if best.keys() <= one.keys() and one not in chosen:
            chosen.append(one)
    return {alias: tuple(one[alias] for one in chosen[:LONGEST]) for alias in best}


@dataclass
class _Block:
    """One SELECT: its relations, those that an outer join may leave out, and its equalities.

    ``strong`` equalities are fulfilled by every row of the block; of ``weak`` ones, from a column
    to another, the second one's row is left out, or is looked at, only where they are.
    """

    node: exp.Select
    relations: dict[str, exp.Expr] = field(default_factory=dict)
    perhaps: set[str] = field(default_factory=set)
    strong: list[tuple[exp.Column, exp.Column]] = field(default_factory=list)
    weak: list[tuple[exp.Column, exp.Column]] = field(default_factory=list)
    whole: bool = True
    """False where a FULL JOIN leaves nothing to say."""

    @cached_property
    def mixed(self) -> bool:
        """Return whether the block takes rows of all keys together: LIMIT, or one global row."""
        return is_limited(self.node) or is_global(self.node)

    @cached_property
    def partitions(self) -> list[list[exp.Expr]]:
        """Return the PARTITION BY expressions of each window function of the block."""
        windows = [one for one in own_parts(self.node) if isinstance(one, exp.Window)]
        return [one.args.get("partition_by") or [] for one in windows]

    @cached_property
    def subqueries(self) -> list[exp.Expr]:
        """The subqueries of its expressions, each as it stands there."""
        return list(_subqueries(self.node))

    def apart(self, equal: set[Column]) -> bool:
        """Return whether rows of different keys stay apart wherever several are taken together."""
        if self.mixed:
            return False
        group = self.node.args.get("group")
        if group is not None and not _grouped_by(group, equal):
            return False
        shown = [item.unalias() for item in self.node.selects]
        if self.node.args.get("distinct") and not _among(shown, equal):
            return False
        return all(_among(one, equal) for one in self.partitions)

    @classmethod
    def made(cls, node: exp.Select) -> _Block:
        """The block of a SELECT."""
        block = cls(node)
        from_ = node.args.get("from_")
        if from_ is not None:
            block.relation(from_.this)
            here = set(block.relations)
            for join in node.args.get("joins") or []:
                here |= block.join(join, here)
        where = node.args.get("where")
        if where is not None:
            block.strong += equalities(where.this)
        return block

    def relation(self, node: exp.Expr) -> set[str]:
        """Add a relation of FROM; return the aliases in it."""
        if encloses_relation(node):
            found = self.relation(node.this)
        else:
            self.relations[node.alias_or_name] = node
            found = {node.alias_or_name}
        for join in node.args.get("joins") or []:
            found |= self.join(join, found)
        return found

    def join(self, node: exp.Join, left: set[str]) -> set[str]:
        """Add a join; return the aliases of its right side."""
        right = self.relation(node.this)
        side, on = node.side, node.args.get("on")
        equal = list(equalities(on)) if on is not None else []
        if side == "FULL":
            self.whole = False
        elif side in ("LEFT", "RIGHT") or node.kind in ("SEMI", "ANTI"):
            kept, other = (right, left) if side == "RIGHT" else (left, right)
            self.perhaps |= other
            for start, end in _both_ways(equal):
                if start.table in kept and end.table in other:
                    self.weak.append((start, end))
        elif self.perhaps & (left | right):
            self.weak += _both_ways(equal)
        else:
            self.strong += equal
        return right

    def equal_to(self, start: set[Column]) -> set[Column]:
        """Return the columns that equal one of these in every row of the block."""
        return _closed(start, _both_ways(self.strong))

    def reached(self, found: set[Column]) -> set[Column]:
        """Return these columns and those of rows that are read only where they equal one."""
        return _closed(found, [*_both_ways(self.strong), *self.weak])


Pair = tuple[exp.Column, exp.Column]


def _both_ways(equal: Sequence[Pair]) -> list[Pair]:
    return [*equal, *((two, one) for one, two in equal)]


def _closed(start: set[Column], steps: Sequence[Pair]) -> set[Column]:
    """Return the columns that can be reached from these by the steps."""
    found, before = set(start), -1
    while before != len(found):
        before = len(found)
        found |= {_column(two) for one, two in steps if _column(one) in found}
    return found


class Finder:
    """Asks the blocks of one written-out query; each is taken apart once, and asked once a column.

    The query must stay as it is meanwhile.
    """

    def __init__(self, tables: Mapping[str, SourceTable]) -> None:
        self.tables = tables
        self.blocks: dict[int, _Block] = {}
        self.outputs: dict[tuple[int, int], Covered | None] = {}

    def block(self, node: exp.Select) -> _Block:
        """Return the block of a SELECT, cached."""
        if id(node) not in self.blocks:
            self.blocks[id(node)] = _Block.made(node)
        return self.blocks[id(node)]

    def components(self, tree: exp.Expr) -> Iterator[Covered]:
        """Yield, for each component that commutes, the uses that it covers."""
        node = opened(tree)
        if not isinstance(node, exp.Select):
            for place in range(len(_first(node).selects)):
                yield self.output(node, place) or {}
            return
        block = self.block(node)
        seen: set[Column] = set()
        for value in [*_grouping(node), *_own_columns(node)]:
            alias = _alias(value)
            if _column(value) in seen or alias not in block.relations:
                continue
            seen.add(_column(value))
            yield self.commuting(node, value) or {}
        if block.whole and block.apart(set()):  # rows of FROM: they fall apart as those do
            for alias, relation in block.relations.items():
                if isinstance(relation, exp.Subquery) and alias not in block.perhaps:
                    yield from self.components(relation.this)

    def commuting(self, node: exp.Select, value: exp.Expr) -> Covered | None:
        """Return the uses that a column of a FROM clause covers; None if it does not commute."""
        block, alias = self.block(node), _alias(value)
        if not block.whole or alias in block.perhaps or not _cut(value):
            return None
        if not isinstance(value, exp.Column):
            if alias not in self.tables or not block.apart({_column(value)}):
                return None
            return {alias: value}
        equal = block.equal_to({_column(value)})
        if not block.apart(equal) or not any(self.cuts(block, *one) for one in equal):
            return None
        return self.covered(block, equal)

    def of(self, node: exp.Select, column: exp.Column) -> Iterator[tuple[str, exp.Expr]]:
        """Yield the uses from which a column of a FROM relation is read, each with its column
        there.
        """
        if column.table in self.tables:
            yield column.table, column
        else:
            yield from (self.inside(self.block(node), *_column(column)) or {}).items()

    def cuts(self, block: _Block, alias: str, name: str) -> bool:
        """Return whether every row of a block has its κ from a use cut to the changed keys."""
        return alias in self.tables or self.inside(block, alias, name) is not None

    def inside(self, block: _Block, alias: str, name: str) -> Covered | None:
        """Return the uses that a derived table's column covers; None if it does not commute."""
        relation = block.relations.get(alias)
        if not isinstance(relation, exp.Subquery):
            return None
        names = [one.lower() for one in relation.this.named_selects]
        if name.lower() not in names:
            return None
        return self.output(relation.this, names.index(name.lower()))

    def output(self, node: exp.Expr, place: int) -> Covered | None:
        """Return the uses that a column of a select list covers; None if it does not commute."""
        asked = (id(node), place)
        if asked not in self.outputs:
            self.outputs[asked] = self._output(node, place)
        return self.outputs[asked]

    def _output(self, node: exp.Expr, place: int) -> Covered | None:
        if is_limited(node):
            return None
        node = opened(node)
        if isinstance(node, exp.SetOperation):
            if is_limited(node):
                return None
            left, right = (self.output(one, place) for one in (node.this, node.expression))
            return None if left is None or right is None else {**left, **right}
        if not isinstance(node, exp.Select) or place >= len(node.selects):
            return None
        item = node.selects[place].unalias()
        return self.commuting(node, item) if isinstance(item, exp.Column) else None

    def covered(self, block: _Block, equal: set[Column]) -> Covered:
        """Return the uses that columns of a block reach, in its FROM clause and its subqueries."""
        found: Covered = {}
        for alias, name in sorted(block.reached(equal)):
            inside: Covered | None = {alias: exp.column(identifier(name), table=alias)}
            if alias not in self.tables:
                inside = self.inside(block, alias, name)
            for use, column in (inside or {}).items():
                found.setdefault(use, column)
        for query in block.subqueries:
            for use, column in self.in_expression(query, equal).items():
                found.setdefault(use, column)
        return found

    def in_expression(self, query: exp.Expr, outer: set[Column]) -> Covered:
        """Return the uses of a subquery that are read only for the rows of a key."""
        compared = _compared_in(query)
        if compared is not None and _column(compared) in outer and _first(query).selects:
            item = _first(query).selects[0].unalias()
            inside = self.output(query, 0) if item.type == compared.type else None
            if inside:
                return inside
        node = opened(query)
        if not isinstance(node, exp.Select):
            return {}
        block = self.block(node)
        if not block.whole:
            return {}
        found: set[Column] = set()
        where = node.args.get("where")
        equal = list(equalities(where.this)) if where is not None else []
        for inner, around in _both_ways(equal):
            if _column(around) in outer and inner.table in block.relations:
                found.add(_column(inner))
        found = {one for one in found if one[0] in block.relations and one[0] not in block.perhaps}
        return self.covered(block, block.equal_to(found)) if found else {}


def _grouped_by(group: exp.Expr, equal: set[Column]) -> bool:
    """Return whether one of these columns is in every grouping set."""
    if _among(group.expressions, equal):
        return True
    for item in group.expressions:
        if isinstance(item, exp.GroupingSets):
            sets = [one.expressions if isinstance(one, exp.Tuple) else [one.unnest()]
                    for one in item.expressions]  # fmt: skip
            if all(_among(one, equal) for one in sets):
                return True
    return False


def _among(items: list[exp.Expr], equal: set[Column]) -> bool:
    return any(_column(one) in equal for one in items)


def _compared_in(query: exp.Expr) -> exp.Column | None:
    """The column x of ``x IN (query)`` where this is a conjunct of WHERE."""
    node: exp.Expr | None = query.parent
    if not isinstance(node, exp.In) or not isinstance(node.this, exp.Column):
        return None
    compared = node.this
    node = node.parent
    while isinstance(node, exp.And | exp.Paren):
        node = node.parent
    return compared if isinstance(node, exp.Where) else None


def equalities(condition: exp.Expr) -> Iterator[tuple[exp.Column, exp.Column]]:
    """The conjuncts ``a.x = b.y`` of a condition, both of one type that rows are looked up by."""
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        part = part.unnest()
        if isinstance(part, exp.And):
            yield from equalities(part)
        if not isinstance(part, exp.EQ) or timing.contains_now(part):
            continue
        one, two = part.this.unnest(), part.expression.unnest()
        columns = isinstance(one, exp.Column) and isinstance(two, exp.Column)
        if columns and one.type is not None and one.type == two.type and _cut(one):
            yield one, two


def _cut(value: exp.Expr) -> bool:
    kind = value.type
    return kind is not None and not any(
        one.is_type("unknown", "null") or str(one.this.value).lower().startswith(UNCUT)
        for one in kind.find_all(exp.DataType)
    )


def _column(value: exp.Expr) -> Column:
    return _alias(value), value.name if isinstance(value, exp.Column) else value.sql()


def _alias(value: exp.Expr) -> str:
    """Return the one relation that a value is computed from; '' for several, or none."""
    if value.find(exp.Query, exp.AggFunc, exp.Window) or timing.contains_now(value):
        return ""
    tables = {column.table for column in value.find_all(exp.Column)}
    return tables.pop() if len(tables) == 1 else ""


def _grouping(node: exp.Select) -> Iterator[exp.Expr]:
    """The expressions that a block groups or partitions by."""
    group = node.args.get("group")
    if group is not None:
        yield from (one for one in group.expressions if not isinstance(one, GROUPINGS))
    for part in own_parts(node):
        if isinstance(part, exp.Window):
            yield from part.args.get("partition_by") or []


def _own_columns(node: exp.Select) -> Iterator[exp.Column]:
    """The columns that a block names itself: those that it groups by first."""
    clauses = ["group", "expressions", "where", "joins", "having"]
    for clause in clauses:
        value = node.args.get(clause)
        for one in value if isinstance(value, list) else [value] if value is not None else []:
            on = one.args.get("on") if isinstance(one, exp.Join) else one
            if on is not None:
                yield from on.find_all(exp.Column)


def _subqueries(node: exp.Select) -> Iterator[exp.Expr]:
    """The subqueries of the expressions of a block, each as it stands there."""
    clauses: list[exp.Expr] = [*node.selects]
    clauses += [node.args[one] for one in ("where", "having") if node.args.get(one) is not None]
    for clause in clauses:
        for part in clause.walk(prune=lambda one: isinstance(one, exp.Query)):
            if isinstance(part, exp.Query):
                yield part


def _first(node: exp.Expr) -> exp.Select:
    while not isinstance(node, exp.Select):
        node = node.this
    return node
