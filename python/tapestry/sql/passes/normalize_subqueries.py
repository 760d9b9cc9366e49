"""Turn a resolved query into arms over base tables: semantics, section 2, "Standard form".

Derived tables and CTEs are merged into the block that uses them; an outer join becomes
``inner ∪ (left row with NULLs where NOT EXISTS a match)``; IN becomes EXISTS; a derived table that
counts by value (DISTINCT, UNION, INTERSECT, EXCEPT) becomes all values it may ever hold beside a
formula that says when each is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.ir import (
    FALSE,
    TRUE,
    And,
    Arm,
    Bag,
    Condition,
    ExistsFormula,
    Formula,
    Or,
    Part,
    SetQuery,
    SourceTable,
    Table,
    UnionAll,
    ValueTable,
    all_of,
    any_of,
)
from tapestry.sql.passes.normalize_conditions import is_opaque, normalize_conditions
from tapestry.sql.passes.parse import table_name

_LATER = "aggregates, windows, LIMIT and scalar subqueries are not supported yet"

Columns = Mapping[str, exp.Expression]


@dataclass(frozen=True)
class _From:
    """One way to form a row of a FROM clause: its tables, its condition, what each column is."""

    tables: tuple[Table, ...]
    where: Formula
    columns: Mapping[str, Columns]


@dataclass
class _Names:
    """Aliases that are unique in the whole query."""

    taken: set[str] = field(default_factory=set)

    def new(self, wanted: str) -> str:
        name, count = wanted, 1
        while name.lower() in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name.lower())
        return name


@dataclass(frozen=True)
class _Scope:
    """Where columns and CTEs are looked up: this block first, then the blocks around it."""

    columns: Mapping[str, Columns]
    ctes: Mapping[str, tuple[exp.Query, _Scope]]
    parent: _Scope | None = None

    def column(self, node: exp.Column) -> exp.Expression:
        scope: _Scope | None = self
        blocks = 0
        while scope is not None:
            columns = scope.columns.get(node.table)
            if columns is not None and node.name in columns:
                if blocks > 1:
                    raise Refusal(
                        "a subquery refers to a table two levels up, which Spark does not support",
                        node.sql("spark"),
                        "compare through the level between, or join there",
                    )
                return columns[node.name].copy()
            blocks += bool(scope.columns)
            scope = scope.parent
        raise Refusal("a column could not be resolved", node.sql("spark"), "qualify it")


def normalize_subqueries(tree: exp.Query, catalog: Catalog) -> tuple[Part, ...]:
    """The query as arms beside each other; raises Refusal for what the theory does not cover yet."""
    builder = _Builder(catalog)
    top = builder.query(tree, _Scope({}, {}))
    parts = []
    for query in top.inputs if isinstance(top, UnionAll) else (top,):
        arms = tuple(arms_of(query, builder.names))
        parts.append(Part(arms, isinstance(query, SetQuery)))
    return tuple(parts)


class _Builder:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.zone = catalog.time_zone
        self.names = _Names()

    # -- queries ------------------------------------------------------------------------------
    def query(self, node: exp.Expression, scope: _Scope) -> Bag | SetQuery | UnionAll:
        while isinstance(node, exp.Subquery):
            _refuse_modifiers(node)
            scope = _with_ctes(node, scope)
            node = node.this
        scope = _with_ctes(node, scope)
        _refuse_modifiers(node)
        if isinstance(node, exp.SetOperation):
            return self.set_operation(node, scope)
        if not isinstance(node, exp.Select):
            raise Refusal("this is not a SELECT", node.sql("spark"))
        bag = self.select(node, scope)
        by_value = bool(node.args.get("distinct")) or node.args.get("group") is not None
        return SetQuery("distinct", (bag,)) if by_value else bag

    def set_operation(self, node: exp.SetOperation, scope: _Scope) -> Bag | SetQuery | UnionAll:
        operator = type(node).__name__.lower()
        if node.args.get("by_name"):
            raise Refusal("UNION BY NAME", node.sql("spark"), "list the columns in one order")
        sides = [self.query(side, scope) for side in (node.this, node.expression)]
        if not node.args.get("distinct"):
            if operator != "union":
                raise Refusal(
                    f"{operator.upper()} ALL", node.sql("spark"), f"write {operator.upper()}"
                )
            return _union_all(sides)
        return SetQuery(operator, tuple(part for side in sides for part in [_one(side)]))

    def select(self, node: exp.Select, scope: _Scope) -> Bag:
        """The arms of one SELECT block: one for each way to form a row of its FROM clause."""
        _refuse_block(node)
        arms = []
        for source in self.from_clause(node, scope):
            inner = _Scope(source.columns, scope.ctes, scope)
            where = source.where
            for clause in ("where", "having"):
                if node.args.get(clause) is not None:
                    where = all_of(where, self.condition(node.args[clause].this, inner))
            select = tuple(self.output(item, inner) for item in node.selects)
            arms.append(Arm(source.tables, where, select))
        return Bag(tuple(arms))

    def output(self, item: exp.Expression, scope: _Scope) -> exp.Expression:
        value = item.this if isinstance(item, exp.Alias) else item
        if not is_opaque(value):
            if timing.contains_now(value):
                raise Refusal(
                    "now() stands in the select list: its value would differ at every instant",
                    item.sql("spark"),
                    "leave it out; _matched_at holds the first instant of the answer",
                )
            raise Refusal(_LATER, item.sql("spark"), "join the table, or use EXISTS in WHERE")
        return self.resolve(value, scope)

    # -- the FROM clause ----------------------------------------------------------------------
    def from_clause(self, node: exp.Select, scope: _Scope) -> list[_From]:
        from_ = node.args.get("from_")
        if from_ is None:
            return [_From((), TRUE, {})]
        rows = self.relation(from_.this, scope)
        for join in node.args.get("joins") or []:
            rows = self.join(rows, join, scope)
        return rows

    def relation(self, node: exp.Expression, scope: _Scope) -> list[_From]:
        if isinstance(node, exp.Table):
            rows = self.table(node, scope)
        elif isinstance(node, exp.Subquery):
            rows = self.derived(self.query(node.this, _with_ctes(node, scope)), node)
            _refuse_modifiers(node)
        else:
            raise Refusal("this cannot stand in FROM", node.sql("spark"))
        for join in node.args.get("joins") or []:
            rows = self.join(rows, join, scope)
        return rows

    def table(self, node: exp.Table, scope: _Scope) -> list[_From]:
        name = table_name(node)
        if name in scope.ctes:
            query, outer = scope.ctes[name]
            return self.derived(self.query(query, outer), node, query)
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        alias = self.names.new(node.alias_or_name)
        columns: dict[str, exp.Expression] = {}
        for column in source.columns:
            reference = exp.column(column.name.lower(), table=alias)
            reference.type = exp.DataType.build(column.type, dialect="spark")
            columns[column.name.lower()] = reference
        written = node.alias_or_name.lower()
        table = SourceTable(alias, name, written, source.arrival is not None)
        return [_From((table,), TRUE, {node.alias_or_name: columns})]

    def derived(
        self,
        query: Bag | SetQuery | UnionAll,
        node: exp.Expression,
        body: exp.Query | None = None,
    ) -> list[_From]:
        """A derived table: merged where it counts by derivation, a value table where by value."""
        alias = node.alias_or_name
        selects = (body if body is not None else node.this).named_selects
        listed = [column.name for column in node.args["alias"].columns] if _listed(node) else []
        names = listed or list(selects)
        rows: list[_From] = []
        for part in query.inputs if isinstance(query, UnionAll) else (query,):
            if isinstance(part, Bag):
                for arm in part.arms:
                    columns = dict(zip(names, arm.select, strict=True))
                    rows.append(_From(arm.tables, arm.where, {alias: columns}))
                continue
            rows.append(self.value_table(part, alias, names))
        return rows

    def value_table(self, query: SetQuery, alias: str, names: list[str]) -> _From:
        unique = self.names.new(alias)
        universe = universe_of(query)
        columns: dict[str, exp.Expression] = {}
        for name, first in zip(names, universe[0].select, strict=True):
            reference = exp.column(name, table=unique)
            reference.type = first.type
            columns[name] = reference
        table = ValueTable(unique, tuple(names), universe)
        where = member(query, tuple(columns.values()))
        return _From((table,), where, {alias: columns})

    def join(self, rows: list[_From], node: exp.Join, scope: _Scope) -> list[_From]:
        right = self.relation(node.this, scope)
        side = node.side
        if node.args.get("using"):
            raise Refusal("USING was not resolved", node.sql("spark"), "write ON a.k = b.k")
        matched = {
            (i, j): self.joined(left, other, node, scope)
            for i, left in enumerate(rows)
            for j, other in enumerate(right)
        }
        result = list(matched.values())
        if side in ("LEFT", "FULL"):
            result += self.unmatched(rows, right, node, scope)
        if side in ("RIGHT", "FULL"):
            result += self.unmatched(right, rows, node, scope)
        return result

    def joined(self, left: _From, right: _From, node: exp.Join, scope: _Scope) -> _From:
        columns = {**left.columns, **right.columns}
        where = all_of(left.where, right.where, self.on(columns, node, scope))
        return _From(left.tables + right.tables, where, columns)

    def on(self, columns: Mapping[str, Columns], node: exp.Join, scope: _Scope) -> Formula:
        if node.args.get("on") is None:
            return TRUE
        return self.condition(node.args["on"], _Scope(columns, scope.ctes, scope))

    def unmatched(
        self, kept: list[_From], other: list[_From], node: exp.Join, scope: _Scope
    ) -> list[_From]:
        """Rows of one side that have no match, the other side's columns being NULL."""
        nulls: dict[str, Columns] = {}
        for row in other:
            for alias, columns in row.columns.items():
                nulls[alias] = {name: _null_like(value) for name, value in columns.items()}
        result = []
        for row in kept:
            arms = []
            for candidate in other:
                columns = {**row.columns, **candidate.columns}
                match = all_of(candidate.where, self.on(columns, node, scope))
                arms.append(Arm(candidate.tables, match, ()))
            where = all_of(row.where, ExistsFormula(True, tuple(arms)))
            result.append(_From(row.tables, where, {**row.columns, **nulls}))
        return result

    # -- conditions ---------------------------------------------------------------------------
    def condition(self, node: exp.Expression, scope: _Scope) -> Formula:
        return normalize_conditions(node, _Context(self, scope))

    def resolve(self, node: exp.Expression, scope: _Scope) -> exp.Expression:
        def replace(part: exp.Expression) -> exp.Expression:
            return timing.wrapped(scope.column(part)) if isinstance(part, exp.Column) else part

        if isinstance(node, exp.Column):
            return scope.column(node)
        return node.copy().transform(replace, copy=False)

    def exists_arms(
        self, node: exp.Expression, scope: _Scope, keep_select: bool
    ) -> tuple[Arm, ...] | None:
        """The arms of a subquery under EXISTS; None where it always returns a row."""
        while isinstance(node, exp.Subquery):
            scope = _with_ctes(node, scope)
            node = node.this
        node = _without_order(node)
        if isinstance(node, exp.Select) and _is_global_aggregate(node):
            return None  # EXISTS over a global aggregate is always true
        if not keep_select and isinstance(node, exp.Select):
            node.set("expressions", [exp.alias_(exp.Literal.number(1), "found")])
            node.set("distinct", None)
        query = self.query(node, scope)
        parts = query.inputs if isinstance(query, UnionAll) else (query,)
        arms: list[Arm] = []
        for part in parts:
            arms += arms_of(part, self.names)
        return tuple(arms)


@dataclass(frozen=True)
class _Context:
    """What ``normalize_conditions`` asks of the builder, in one scope."""

    builder: _Builder
    scope: _Scope

    @property
    def zone(self) -> str:
        return self.builder.zone

    def resolve(self, node: exp.Expression) -> exp.Expression:
        return self.builder.resolve(node, self.scope)

    def exists(self, query: exp.Expression, negated: bool) -> Formula:
        arms = self.builder.exists_arms(query, self.scope, keep_select=False)
        if arms is None:
            return FALSE if negated else TRUE
        return ExistsFormula(negated, arms)

    def exists_where(
        self, query: exp.Expression, of: Callable[[list[exp.Expression]], exp.Expression]
    ) -> ExistsFormula:
        arms = self.builder.exists_arms(query, self.scope, keep_select=True)
        if arms is None:
            raise Refusal(_LATER, query.sql("spark"), "join the table instead")
        narrowed = (
            Arm(arm.tables, all_of(arm.where, Condition(of(list(arm.select)))), arm.select)
            for arm in arms
        )
        return ExistsFormula(False, tuple(narrowed))


def member(query: Bag | SetQuery | UnionAll, values: tuple[exp.Expression, ...]) -> Formula:
    """When is this row of values in the answer? Values compare with ``<=>`` (NULLs are equal)."""
    if isinstance(query, UnionAll):
        return any_of(*(member(part, values) for part in query.inputs))
    if isinstance(query, Bag):
        return any_of(
            *(
                ExistsFormula(False, (Arm(a.tables, all_of(a.where, *_same(a, values)), a.select),))
                for a in query.arms
            )
        )
    parts = [member(part, values) for part in query.inputs]
    if query.operator == "intersect":
        return all_of(*parts)
    if query.operator == "except":
        return all_of(parts[0], *(negated(part) for part in parts[1:]))
    return any_of(*parts)


def negated(formula: Formula) -> Formula:
    """The negation of a membership formula, which is never unknown."""
    if isinstance(formula, And):
        return any_of(*(negated(part) for part in formula.parts))
    if isinstance(formula, Or):
        return all_of(*(negated(part) for part in formula.parts))
    assert isinstance(formula, ExistsFormula)
    return ExistsFormula(not formula.negated, formula.arms)


def universe_of(query: Bag | SetQuery | UnionAll) -> tuple[Arm, ...]:
    """Arms whose values are all that the query may ever hold (of EXCEPT, the left side's)."""
    if isinstance(query, Bag):
        return query.arms
    if isinstance(query, SetQuery) and query.operator in ("except", "intersect"):
        return universe_of(query.inputs[0])
    return tuple(arm for part in query.inputs for arm in universe_of(part))


def arms_of(query: Bag | SetQuery, names: _Names) -> list[Arm]:
    """The rows of a query as arms: for EXISTS it does not matter how often a row comes."""
    if isinstance(query, Bag):
        return list(query.arms)
    if query.operator in ("distinct", "union"):
        return [arm for part in query.inputs for arm in arms_of(_one(part), names)]
    universe = universe_of(query)
    alias = names.new("v")
    columns = tuple(f"c{i}" for i, _ in enumerate(universe[0].select, start=1))
    values = []
    for column, first in zip(columns, universe[0].select, strict=True):
        reference = exp.column(column, table=alias)
        reference.type = first.type
        values.append(reference)
    where = member(query, tuple(values))
    return [Arm((ValueTable(alias, columns, universe),), where, tuple(values))]


def _same(arm: Arm, values: tuple[exp.Expression, ...]) -> list[Formula]:
    return [
        Condition(exp.NullSafeEQ(this=timing.wrapped(mine), expression=timing.wrapped(value)))
        for mine, value in zip(arm.select, values, strict=True)
    ]


def _one(query: Bag | SetQuery | UnionAll) -> Bag | SetQuery:
    """A UNION ALL inside of a set operation: values count once anyway."""
    return SetQuery("union", query.inputs) if isinstance(query, UnionAll) else query


def _union_all(sides: list[Bag | SetQuery | UnionAll]) -> UnionAll:
    flat: list[Bag | SetQuery] = []
    for side in sides:
        flat.extend(side.inputs if isinstance(side, UnionAll) else (side,))
    return UnionAll(tuple(flat))


def _null_like(value: exp.Expression) -> exp.Expression:
    if value.type is None or value.is_type("unknown", "null"):
        null: exp.Expression = exp.Null()
    else:
        null = exp.cast(exp.Null(), value.type.copy())
    null.type = value.type
    return null


def _with_ctes(node: exp.Expression, scope: _Scope) -> _Scope:
    with_ = node.args.get("with_")
    if with_ is None:
        return scope
    if with_.args.get("recursive"):
        raise Refusal("a recursive CTE", with_.sql("spark"), "write the steps as joins")
    for cte in with_.expressions:
        ctes = {**scope.ctes, cte.alias.lower(): (cte.this, scope)}
        scope = _Scope(scope.columns, ctes, scope.parent)
    return scope


def _listed(node: exp.Expression) -> bool:
    alias = node.args.get("alias")
    return alias is not None and bool(alias.columns)


def _without_order(node: exp.Expression) -> exp.Expression:
    """EXISTS does not care for ORDER BY, nor for a LIMIT of at least one row."""
    copy = node.copy()
    copy.set("order", None)
    limit = copy.args.get("limit")
    if limit is not None and limit.expression.is_int and int(limit.expression.this) > 0:
        copy.set("limit", None)
    return copy


def _is_global_aggregate(node: exp.Select) -> bool:
    aggregates = any(
        isinstance(part, exp.AggFunc) and part.find_ancestor(exp.Window) is None
        for item in node.selects
        for part in item.walk()
    )
    return aggregates and node.args.get("group") is None and node.args.get("having") is None


def _refuse_modifiers(node: exp.Expression) -> None:
    if node.args.get("limit") is not None or node.args.get("offset") is not None:
        raise Refusal(
            f"LIMIT: {_LATER}", node.sql("spark"), "filter by a condition, or use a view downstream"
        )


def _refuse_block(node: exp.Select) -> None:
    for clause in ("windows", "qualify", "sort", "cluster", "distribute"):
        if node.args.get(clause):
            raise Refusal(f"{clause.upper()}: {_LATER}", node.sql("spark"))
    group = node.args.get("group")
    if group is not None and any(group.args.get(k) for k in ("rollup", "cube", "grouping_sets")):
        raise Refusal(f"ROLLUP, CUBE, GROUPING SETS: {_LATER}", group.sql("spark"))
    for item in [*node.selects, node.args.get("having")]:
        if item is None:
            continue
        for part in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(part, exp.Window | exp.AggFunc):
                raise Refusal(_LATER, part.sql("spark"), "compute it in a table downstream")
            if isinstance(part, exp.Explode | exp.Posexplode | exp.Inline):
                raise Refusal("a generator in the select list", part.sql("spark"))
