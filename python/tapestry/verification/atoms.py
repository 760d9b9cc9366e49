"""Finds the comparisons of a query that read the clock, over columns of tables only.

Nothing is solved here: a comparison is a pair of texts whose order may change with the instant.
Columns of derived tables and CTEs are traced to the tables that they come from, arm by arm; so are
scalar subqueries, and aggregates that give the value of some row (``row_values``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.from_clause import Ctes, encloses_relation, leaves_in, opened_in
from tapestry.sql.read.groups_of_nothing import GROUPING_SETS
from tapestry.verification.row_values import Choices, alias_of, compares_clock, null_like, own_parts
from tapestry.verification.scopes import conditions, relation_of

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
VALUES = (exp.Column, exp.Identifier, exp.Literal, exp.Interval, exp.IntervalSpan, exp.Var)
STRICT = (*VALUES, exp.Cast, exp.DataType, exp.Add, exp.Sub, exp.Neg, exp.Paren)
"""Expressions that are NULL if an argument is; of other functions that is not known."""


@dataclass(frozen=True)
class Pair:
    """Two values whose order may change with the instant, and the tables that they read.

    tables
        alias -> source; the values' columns are ``alias.column``.
    """

    left: exp.Expr
    right: exp.Expr
    tables: Mapping[str, str]


@dataclass
class _Scope:
    """The relations of one FROM clause, each with the CTEs visible to it; and the scope around.

    ``outer``: an outer join may fill some of them with NULLs, whatever their rows hold.
    """

    relations: Mapping[str, tuple[exp.Expr, Ctes]]
    parent: _Scope | None
    outer: bool
    names: dict[tuple[str, str], str] = field(default_factory=dict)


class Atoms:
    """Collects the pairs of one resolved query."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.scopes: dict[tuple[object, ...], _Scope] = {}
        self.choices = Choices()
        self.sources: dict[str, str] = {}
        self.pairs: list[Pair] = []

    def of(self, tree: exp.Query) -> list[Pair]:
        """Every pair of the query, subqueries and derived tables included."""
        self.query(tree, {}, None)
        return self.pairs

    def query(self, node: exp.Expr, ctes: Ctes, parent: _Scope | None) -> None:
        """Collect from a query."""
        node, ctes = opened_in(node, ctes)
        if isinstance(node, exp.SetOperation):
            for side in (node.this, node.expression):
                self.query(side, ctes, parent)
        elif isinstance(node, exp.Select):
            self.block(node, ctes, parent)

    def block(self, node: exp.Select, ctes: Ctes, parent: _Scope | None) -> None:
        """Collect from one SELECT."""
        scope = self.scope(node, ctes, parent)
        for relation, seen in scope.relations.values():
            if isinstance(relation, exp.Subquery):
                self.query(relation, seen, None)
            elif isinstance(relation, exp.Table) and not relation_of(relation, seen):
                body, inner = seen[relation.name.lower()]
                self.query(body, inner, None)
        others = (node.args.get(clause) for clause in ("group", "order"))
        clauses = (*conditions(node), *node.selects, *(one for one in others if one is not None))
        for condition in clauses:
            for part in condition.walk(prune=lambda n: isinstance(n, exp.Query)):
                if isinstance(part, exp.Query):
                    self.query(part, ctes, scope)
                for left, right in _compared(part):
                    self.add(left, right, scope)

    def scope(self, node: exp.Select, ctes: Ctes, parent: _Scope | None, *use: object) -> _Scope:
        """The scope of a block, made once for each use of it: rows of two uses are two rows."""
        place = (id(node), *use)
        if place not in self.scopes:
            relations = {r.alias_or_name: (r, ctes) for r in _relations(node)}
            joins = [j for j in node.find_all(exp.Join) if j.find_ancestor(exp.Select) is node]
            group = node.args.get("group")
            sets = group is not None and group.find(*GROUPING_SETS) is not None
            outer = sets or any(join.side for join in joins)
            self.scopes[place] = _Scope(relations, parent, outer)
        return self.scopes[place]

    def add(self, left: exp.Expr, right: exp.Expr, scope: _Scope) -> None:
        """Collect one comparison, for every way in which its columns come from tables."""
        if not (self.reads_clock(left, scope) or self.reads_clock(right, scope)):
            return
        for one, two in product(self.traced(left, scope), self.traced(right, scope)):
            if not compares_clock(one, two):
                continue
            used = {column.table for side in (one, two) for column in side.find_all(exp.Column)}
            self.pairs.append(Pair(one, two, {alias: self.sources[alias] for alias in used}))

    def reads_clock(self, node: exp.Expr, scope: _Scope) -> bool:
        """Return whether a value depends on the clock, perhaps through a derived table's column."""
        for part in own_parts(node):
            if timing.is_now(part):
                return True
            if isinstance(part, exp.Column) and self.hides_clock(part, scope):
                return True
        return False

    def hides_clock(self, column: exp.Column, scope: _Scope) -> bool:
        """Return whether a derived table, view or CTE computes a column with the clock."""
        found: _Scope | None = scope
        while found is not None and column.table not in found.relations:
            found = found.parent
        if found is None:
            return False
        relation, ctes = found.relations[column.table]
        if isinstance(relation, exp.Table) and relation_of(relation, ctes):
            return False
        body = relation
        if isinstance(relation, exp.Table):
            body, ctes = ctes[relation.name.lower()]
        listed = [c.name for c in relation.args["alias"].columns] or _names(body)
        place = [name.lower() for name in listed].index(column.name.lower())
        return any(
            self.reads_clock(arm.selects[place].unalias(), self.scope(arm, seen, None))
            for arm, seen in leaves_in(body, ctes)
        )

    def traced(self, node: exp.Expr, scope: _Scope, nulls: bool = False) -> list[exp.Expr]:
        """Return the value over columns of tables, once for each combination of arms.

        ``nulls``: a value that is NULL counts too. No comparison with NULL ever changes.
        """
        if node.find(exp.Exists) is not None:
            return []
        results = []
        for choice in self.choices.of(node):
            strict = _strict(choice)
            if strict and choice.find(exp.Null) is not None:
                continue
            columns = list(dict.fromkeys(choice.find_all(exp.Column)))
            filled = nulls or not strict
            for chosen in product(*(self.origins(c, scope, filled) for c in columns)):
                mapping: dict[exp.Expr, exp.Expr] = dict(zip(columns, chosen, strict=True))
                results.append(_substituted(choice, mapping))
        return results

    def origins(self, column: exp.Column, scope: _Scope, nulls: bool) -> list[exp.Expr]:
        """Return the values of a column, over tables' columns; with ``nulls`` also those of
        joins.
        """
        if column.table in self.choices.subqueries:
            query = self.choices.subqueries[column.table]
            ctes = next(iter(scope.relations.values()))[1] if scope.relations else {}
            return self.of_leaves(query, ctes, 0, scope, nulls, (id(scope), column.table))
        found: _Scope | None = scope
        alias, row = alias_of(column)
        while found is not None and alias not in found.relations:
            found = found.parent
        if found is None:
            return []
        relation, ctes = found.relations[alias]
        values = [null_like(column)] if nulls and found.outer else []
        if isinstance(relation, exp.Table) and (source := relation_of(relation, ctes)):
            ours = found.names.setdefault((alias, row), f"_t{len(self.sources) + 1}")
            self.sources[ours] = source
            traced = exp.column(column.this.copy(), table=ours)
            traced.type = column.type
            return [traced, *values]
        if isinstance(relation, exp.Table):
            body, ctes = ctes[relation.name.lower()]
        else:
            body = relation
        listed = [c.name for c in relation.args["alias"].columns] or _names(body)
        place = [name.lower() for name in listed].index(column.name.lower())
        use = (id(found), alias, row)
        return values + self.of_leaves(body, ctes, place, None, nulls, use)

    def of_leaves(
        self,
        body: exp.Expr,
        ctes: Ctes,
        place: int,
        parent: _Scope | None,
        nulls: bool,
        use: tuple[object, ...],
    ) -> list[exp.Expr]:
        """Return the values of an item of a query's select lists, over columns of tables."""
        values = []
        for arm, seen in leaves_in(body, ctes):
            item = arm.selects[place].unalias()
            values += self.traced(item, self.scope(arm, seen, parent, *use), nulls)
        return values


def _strict(node: exp.Expr) -> bool:
    """Return whether a value is NULL wherever one of its columns is."""
    return all(isinstance(p, (*STRICT, exp.Null)) or timing.is_now(p) for p in node.walk())


def _compared(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the pairs of values whose order decides a condition."""
    if isinstance(node, COMPARISONS):
        yield node.this, node.expression
    elif isinstance(node, exp.Between):
        yield node.this, node.args["low"]
        yield node.this, node.args["high"]
    elif isinstance(node, exp.In):
        for item in node.expressions:
            yield node.this, item


def _relations(node: exp.Select) -> Iterator[exp.Expr]:
    """The tables and derived tables of a FROM clause, those in parentheses included."""
    from_ = node.args.get("from_")
    open_nodes = [] if from_ is None else [from_.this]
    open_nodes += [join.this for join in node.args.get("joins") or []]
    while open_nodes:
        relation = open_nodes.pop()
        open_nodes += [join.this for join in relation.args.get("joins") or []]
        if encloses_relation(relation):
            open_nodes.append(relation.this)
        else:
            yield relation


def _names(node: exp.Expr) -> list[str]:
    inner, _ = opened_in(node, {})
    assert isinstance(inner, exp.Query)
    return inner.named_selects


def _substituted(node: exp.Expr, mapping: Mapping[exp.Expr, exp.Expr]) -> exp.Expr:
    def replace(part: exp.Expr) -> exp.Expr:
        return timing.wrapped(mapping[part]) if isinstance(part, exp.Column) else part

    return node.copy().transform(replace, copy=False)
