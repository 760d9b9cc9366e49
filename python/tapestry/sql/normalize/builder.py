"""Turn the queries of an arm into arms over base tables: semantics, section 2, "Standard form".

Derived tables and CTEs are merged into what uses them; an outer join becomes ``inner ∪ (left row
with NULLs where NOT EXISTS a match)``; IN becomes EXISTS; what counts by value: all its values ever
beside a formula that says when each is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ROW_ID
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.copies import copied
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import encloses_relation
from tapestry.sql.facts.values import (
    Names,
    found_in,
    member,
    one,
    timeless,
    union_all,
    value_table,
)
from tapestry.sql.ir import (
    FALSE,
    TRUE,
    Arm,
    Bag,
    ExistsFormula,
    Formula,
    SetQuery,
    SourceTable,
    UnionAll,
    all_of,
)
from tapestry.sql.normalize.align_sides import ValueTypes, align_sides, sides_of
from tapestry.sql.normalize.explode_sources import ExplodedSources
from tapestry.sql.normalize.growing_joins import growing_look_up, null_where_absent
from tapestry.sql.normalize.look_ups import look_up
from tapestry.sql.normalize.nodes import (
    has_laterals,
    is_listed,
    is_name,
    narrowed,
    own_size,
    with_clocks,
    without_order,
)
from tapestry.sql.normalize.normalize_conditions import normalize_conditions
from tapestry.sql.normalize.scope import Columns, Scope, Way, with_ctes
from tapestry.sql.read.parse import table_name
from tapestry.sql.read.refuse_unsupported import (
    is_global_aggregate,
    odd_relation,
    refuse_many,
    refuse_names,
    refuse_uneven,
)
from tapestry.sql.work import spend
from tapestry.sql.write import build

_ROW = 40
"""Units for a SELECT, or a way to form a row of FROM."""


class Builder:
    """Builds arms of queries; ``top``: of the outermost one, or of an arm of its UNION ALL."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.names = Names()
        self.kinds = ValueTypes()
        self.exploded = ExplodedSources(catalog)
        self.numbers = count(1)
        self.place: tuple[int, ...] = ()
        self.sizes: dict[int, int] = {}
        self.keeps = False
        """Are LEFT JOINs to tables that grow kept (``growing_joins``)?"""

    # -- queries ------------------------------------------------------------------------------
    def query(self, node: exp.Expr, scope: Scope, top: bool = False) -> Bag | SetQuery | UnionAll:
        """Return a query as arms; ``top``: it is the outermost one or an arm of its UNION [ALL]."""
        return self.query_in(self.place, node, scope, top)

    def query_in(
        self, around: tuple[int, ...], node: exp.Expr, scope: Scope, top: bool = False
    ) -> Bag | SetQuery | UnionAll:
        """Return a query as arms, in a place of its own inside of another one.

        What stands in FROM sees nothing of the query around: each use of a view or CTE, and each
        derived table, is in none, and its aliases mean tables of its own.
        """
        before, self.place = self.place, (*around, next(self.numbers))
        try:
            return self.query_here(node, scope, top)
        finally:
            self.place = before

    def query_here(self, node: exp.Expr, scope: Scope, top: bool) -> Bag | SetQuery | UnionAll:
        """Return a query as arms, in the current place."""
        while isinstance(node, exp.Subquery):
            scope = with_ctes(node, scope)
            node = node.this
        scope = with_ctes(node, scope)
        if id(node) not in self.sizes:
            self.sizes[id(node)] = own_size(node)
        spend(_ROW + 4 * self.sizes[id(node)], "queries in FROM, each where it is used")
        if isinstance(node, exp.SetOperation):
            return self.set_operation(node, scope, top)
        if not isinstance(node, exp.Select):
            hint = "write it as SELECT … FROM a table"
            raise Refusal("this is not a SELECT", node.sql("spark"), hint, code="not-a-select")
        bag = self.select(node, scope)
        by_value = bool(node.args.get("distinct")) or node.args.get("group") is not None
        return SetQuery("distinct", (timeless(bag),)) if by_value else bag

    def set_operation(
        self, node: exp.SetOperation, scope: Scope, top: bool
    ) -> Bag | SetQuery | UnionAll:
        """A set operation: its arms beside each other, or all of its values."""
        written = sides_of(node)
        refuse_sides(node, written)
        operator = type(node).__name__.lower()
        top = top and operator == "union"
        sides = [self.query(side, scope, top) for side in written]
        distinct = bool(node.args.get("distinct"))
        sides = align_sides(sides, node, top, self.names, self.kinds)
        if not distinct:
            return union_all(sides)
        return SetQuery(operator, tuple(timeless(one(side)) for side in sides))

    def select(self, node: exp.Select, scope: Scope) -> Bag:
        """The arms of one SELECT block: one for each way to form a row of its FROM clause."""
        arms = []
        for source in self.from_clause(node, scope):
            inner = Scope(source.columns, scope.ctes, scope)
            where = source.where
            for clause in ("where", "having"):
                if node.args.get(clause) is not None:
                    where = all_of(where, self.condition(node.args[clause].this, inner))
            select = tuple(self.output(item, inner) for item in node.selects)
            arms.append(Arm(source.tables, where, select, source.keys))
        return Bag(tuple(arms))

    def output(self, item: exp.Expr, scope: Scope) -> exp.Expr:
        """Return an item of the select list over columns of tables."""
        return self.resolve(item.this if isinstance(item, exp.Alias) else item, scope)

    # -- the FROM clause ----------------------------------------------------------------------
    def from_clause(self, node: exp.Select, scope: Scope) -> list[Way]:
        """The ways to form a row of a FROM clause."""
        from_ = node.args.get("from_")
        rows = [Way((), TRUE, {})] if from_ is None else self.relation(from_.this, scope)
        for join in node.args.get("joins") or []:
            rows = self.join(rows, join, scope)
        for lateral in node.args.get("laterals") or []:
            rows = [one for row in rows for one in self.generated(row, lateral, scope)]
        return rows

    def generated(self, row: Way, node: exp.Lateral, scope: Scope) -> list[Way]:
        """Return a row of FROM with each of the rows that a generator makes of it."""
        argument = self.resolve(node.this.this, Scope(row.columns, scope.ctes, scope))
        return self.exploded.way(row, node, argument, self.names, self.place)

    def relation(self, node: exp.Expr, scope: Scope) -> list[Way]:
        """The ways to form a row of one relation."""
        if isinstance(node, exp.Table):
            rows = self.table(node, scope)
        elif encloses_relation(node):  # joins are joined in the order that the tree gives them
            rows = self.relation(node.this, scope)
        elif isinstance(node, exp.Subquery):
            rows = self.derived(self.query_in((), node.this, with_ctes(node, scope)), node)
        else:
            raise odd_relation(node)
        for join in node.args.get("joins") or []:
            rows = self.join(rows, join, scope)
        return rows

    def table(self, node: exp.Table, scope: Scope) -> list[Way]:
        """The rows of a source, or of a CTE."""
        name = table_name(node)
        if name in scope.ctes:
            query, outer = scope.ctes[name]
            return self.derived(self.query_in((), query, outer), node, query)
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        alias = self.names.new(node.alias_or_name)
        columns: dict[str, exp.Expr] = {}
        for column in source.columns:
            reference = exp.column(column.name.lower(), table=alias)
            reference.type = column.data_type
            columns[column.name.lower()] = reference
        written = node.alias_or_name.lower()
        appended = source.arrival is not None
        table = SourceTable(alias, name, written, appended, source.ends, self.place)
        key = keys.of_row(exp.column(ROW_ID, table=alias))
        return [Way((table,), TRUE, {node.alias_or_name: columns}, (key,))]

    def derived(
        self,
        query: Bag | SetQuery | UnionAll,
        node: exp.Expr,
        body: exp.Query | None = None,
    ) -> list[Way]:
        """A derived table: merged where it counts by derivation, a value table where by value."""
        alias = node.alias_or_name
        selects = (body if body is not None else node.this).named_selects
        listed = [column.name for column in node.args["alias"].columns] if is_listed(node) else []
        names = listed or list(selects)
        rows: list[Way] = []
        inputs = query.inputs if isinstance(query, UnionAll) else (query,)
        by_value = any(not isinstance(part, Bag) for part in inputs)
        refuse_names(names, len(selects), by_value, node)
        for number, part in enumerate(inputs, start=1):
            if isinstance(part, Bag):
                ways = sum(4 + len(arm.keys) for arm in part.arms)
                spend(ways * (4 + len(names)), "columns of derived tables")
                for arm in part.arms:
                    columns = dict(zip(names, arm.select, strict=True))
                    key = keys.nested(keys.of_arm(number, arm.keys))
                    rows.append(Way(arm.tables, arm.where, {alias: columns}, (key,)))
                continue
            row = self.value_table(part, alias, names)
            values = keys.of_values(list(row.columns[alias].values()))
            rows.append(replace(row, keys=(keys.nested(keys.of_arm(number, [values])),)))
        return rows

    def value_table(self, query: SetQuery, alias: str, names: list[str]) -> Way:
        """A derived table that counts by value."""
        table, values = value_table(query, self.names.new(alias), tuple(names))
        columns = dict(zip(names, values, strict=True))
        return Way((table,), member(query, values), {alias: columns})

    def join(self, rows: list[Way], node: exp.Join, scope: Scope) -> list[Way]:
        """The ways to form a row of a join."""
        right = self.relation(node.this, scope)
        side = node.side
        if node.args.get("using"):
            hint = "write ON a.k = b.k"
            raise Refusal("USING was not resolved", node.sql("spark"), hint, code="using-join")
        if side in ("LEFT", "RIGHT") and not has_laterals(node):
            kept, other = (rows, right) if side == "LEFT" else (right, rows)
            looked_up = self.looked_up(kept, other, node, scope)
            if looked_up:
                return looked_up
        refuse_many(len(rows) * len(right), len(rows), len(right), node)
        matched = {
            (i, j): self.joined(left, other, node, scope)
            for i, left in enumerate(rows)
            for j, other in enumerate(right)
        }
        result = list(matched.values())
        if side in ("LEFT", "FULL"):
            result += self.unmatched(rows, right, node, scope, left=True)
        if side in ("RIGHT", "FULL"):
            result += self.unmatched(right, rows, node, scope, left=False)
        return result

    def looked_up(
        self, kept: list[Way], other: list[Way], node: exp.Join, scope: Scope
    ) -> list[Way]:
        """Return rows of one side, each with its matches in a static table or NULLs; else []."""
        result: list[Way] = []
        for row in kept if len(other) == 1 else ():
            columns = {**row.columns, **other[0].columns}
            on = all_of(other[0].where, self.on(columns, node, scope))
            values = [value for one in other[0].columns.values() for value in one.values()]
            table = look_up(other[0].tables, on, values)
            if table is None and self.keeps:
                table = growing_look_up(other[0].tables, on, values)
                if table is not None:
                    columns = {**row.columns, **null_where_absent(other[0].columns, table)}
            if table is None:
                return []
            absent = tuple(keys.perhaps(key) for key in other[0].keys)
            parts = row.keys + absent if node.side == "LEFT" else absent + row.keys
            result.append(Way((*row.tables, table), row.where, columns, parts))
        return result

    def joined(self, left: Way, right: Way, node: exp.Join, scope: Scope) -> Way:
        """Return a row of both sides, joined."""
        spend(_ROW + len(left.tables) + len(right.tables), "ways to form a row of FROM")
        columns = {**left.columns, **right.columns}
        where = all_of(left.where, right.where, self.on(columns, node, scope))
        return Way(left.tables + right.tables, where, columns, left.keys + right.keys)

    def on(self, columns: Mapping[str, Columns], node: exp.Join, scope: Scope) -> Formula:
        """Return the condition of ON as a formula."""
        if node.args.get("on") is None:
            return TRUE
        return self.condition(node.args["on"], Scope(columns, scope.ctes, scope))

    def unmatched(
        self, kept: list[Way], other: list[Way], node: exp.Join, scope: Scope, left: bool
    ) -> list[Way]:
        """Rows of one side (the left one?) that have no match, the other side's being NULL."""
        nulls: dict[str, Columns] = {}
        absent = tuple(keys.nothing() for _ in other[0].keys)
        for row in other:
            for alias, columns in row.columns.items():
                nulls[alias] = {name: build.null_like(value) for name, value in columns.items()}
        result = []
        for row in kept:
            arms = []
            for candidate in other:
                spend(_ROW + len(candidate.tables), "ways to form a row of FROM")
                both = {**row.columns, **candidate.columns}
                match = all_of(candidate.where, self.on(both, node, scope))
                arms.append(Arm(candidate.tables, match, ()))
            where = all_of(row.where, ExistsFormula(True, tuple(arms)))
            parts = row.keys + absent if left else absent + row.keys
            result.append(Way(row.tables, where, {**row.columns, **nulls}, parts))
        return result

    # -- conditions ---------------------------------------------------------------------------
    def condition(self, node: exp.Expr, scope: Scope) -> Formula:
        """A condition as a formula."""
        return normalize_conditions(with_clocks(node, scope), _Context(self, scope))

    def resolve(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """A value over columns of tables."""

        def replace(part: exp.Expr) -> exp.Expr:
            return timing.wrapped(scope.column(part)) if is_name(part) else part

        if is_name(node):
            return scope.column(node)
        return copied(node).transform(replace, copy=False)

    def exists_arms(
        self, node: exp.Expr, scope: Scope, keep_select: bool
    ) -> tuple[Arm, ...] | None:
        """The arms of a subquery under EXISTS; None where it always returns a row."""
        while isinstance(node, exp.Subquery):
            scope = with_ctes(node, scope)
            node = node.this
        node = node if keep_select else without_order(node)
        if isinstance(node, exp.Select) and is_global_aggregate(node):
            return None  # EXISTS over a global aggregate is always true
        if not keep_select and isinstance(node, exp.Select):
            node.set("expressions", [exp.alias_(exp.Literal.number(1), "found")])
            node.set("distinct", None)
        return tuple(found_in(self.query(node, scope)))


@dataclass(frozen=True)
class _Context:
    """The builder in one scope, as ``normalize_conditions`` needs it."""

    builder: Builder
    scope: Scope

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A value over columns of tables."""
        return self.builder.resolve(node, self.scope)

    def exists(self, query: exp.Expr, negated: bool) -> Formula:
        if (arms := self.builder.exists_arms(query, self.scope, keep_select=False)) is None:
            return FALSE if negated else TRUE
        return ExistsFormula(negated, arms)

    def exists_where(
        self, query: exp.Expr, of: Callable[[list[exp.Expr]], exp.Expr]
    ) -> ExistsFormula:
        arms = self.builder.exists_arms(query, self.scope, keep_select=True)
        assert arms is not None, "a global aggregate behind IN is evaluated at instants"
        timeless(Bag(arms))
        return ExistsFormula(False, tuple(narrowed(arm, of(list(arm.select))) for arm in arms))


def refuse_sides(node: exp.SetOperation, sides: Sequence[exp.Query]) -> None:
    """Raise Refusal where a set operation does not say which columns belong together."""
    refuse_uneven(node, sides)
    if node.args.get("by_name"):
        hint = "list the columns in one order"
        raise Refusal("UNION BY NAME", node.sql("spark"), hint, code="union-by-name")
