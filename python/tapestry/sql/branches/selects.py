"""Pieces of SQL that all strategies share: FROM clauses, [NOT] EXISTS, non-empty intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame, at_most, less
from tapestry.sql.ir import ArmTable, Conjunction, Exists, SourceTable, Table, ValueTable
from tapestry.sql.normalize.look_ups import looked_up
from tapestry.sql.write import build


@dataclass(frozen=True)
class Reads:
    """The CTEs that a rendering reads: source name -> name of the CTE that applies its scan.

    ``uses``: alias -> name of the CTE that applies the scan of that use alone. ``joined``: the
    aliases of two uses -> the one of the relation, among ``uses``, that has both joined.
    """

    names: Mapping[str, str]
    uses: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def from_clause(
        self, select: exp.Select, tables: tuple[Table, ...], frame: Frame
    ) -> exp.Select:
        """Add these tables to the FROM clause of the select, and return it."""
        for table in tables:
            build.add_from(select, self.relation(table, frame), filters_of(table))
        return select

    def relation(self, table: Table, frame: Frame) -> exp.Expr:
        """One table of a FROM clause under its alias."""
        alias = exp.TableAlias(this=exp.to_identifier(table.alias))
        if isinstance(table, SourceTable):
            name = self.uses.get(table.alias) or self.names[table.source]
            return exp.Table(this=exp.to_identifier(name), alias=alias)
        return exp.Subquery(this=self.universe(table, frame), alias=alias)

    def universe(self, table: ValueTable, frame: Frame) -> exp.Query:
        """All values that a table by value may hold up to t: a superset, its membership decides."""
        parts: list[exp.Query] = []
        for block in table.universe:
            for conjunction in block.disjuncts:
                named = [
                    exp.alias_(value.copy(), name)
                    for value, name in zip(block.select, table.columns, strict=True)
                ]
                select = self.from_clause(build.select(named), conjunction.tables, frame)
                reached = [at_most(bound, frame.t) for bound in conjunction.lowers]
                select.set("distinct", exp.Distinct())
                parts.append(where(select, [*conjunction.conditions, *reached]))
        if not parts:
            raise Refusal(
                "a part of the query can never hold a row",
                table.alias,
                "leave it out",
                code="no-answer",
            )
        return build.union(parts)

    def exists(self, exists: Exists, frame: Frame, validity: Iterable[exp.Expr]) -> exp.Expr:
        """``[NOT] EXISTS`` of a conjunction without subqueries of its own."""
        inner = exists.inner
        select = self.from_clause(build.select_one(), inner.tables, frame)
        node: exp.Expr = exp.Exists(this=where(select, [*inner.filters, *validity]))
        return exp.Not(this=node) if exists.negated else node


def where(select: exp.Select, conditions: Iterable[exp.Expr]) -> exp.Select:
    """The select with these conditions, each in parentheses where it needs them."""
    unique = dict.fromkeys(conditions)
    parts = [build.operand(condition) for condition in unique if not _is_true(condition)]
    return build.add_where(select, parts)


def non_empty(conjunction: Conjunction) -> list[exp.Expr]:
    """Return ``max(lowers) < min(uppers)`` pair by pair: a pair with a NULL bound is never true."""
    return [less(low, high) for low in conjunction.lowers for high in conjunction.uppers]


def valid_at(conjunction: Conjunction, instant: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that the conjunction's interval contains the instant."""
    return [at_most(low, instant) for low in conjunction.lowers] + [
        less(instant, high) for high in conjunction.uppers
    ]


def on_of(table: Table) -> tuple[exp.Expr, ...] | None:
    """The conditions that a look-up is joined on; None where the table is no look-up."""
    return table.on if isinstance(table, SourceTable) else None


def filters_of(table: Table) -> tuple[exp.Expr, ...] | None:
    """Return the conditions that join a look-up, with those they imply; None if it is none."""
    on = on_of(table)
    if on is None or not isinstance(table, SourceTable):
        return None
    return (*on, *(one.condition for one in table.inferred))


def aliases_of(node: exp.Expr) -> set[str]:
    """Return the aliases whose columns an expression without subqueries uses."""
    return {column.table for column in node.find_all(exp.Column)}


def base_of(aliases: Iterable[str], tables: Iterable[Table | ArmTable]) -> set[str]:
    """Return the tables themselves, with look-ups replaced by the tables they are joined to."""
    joined = {one.alias: one.on or () for one in looked_up(tables)}
    found: set[str] = set()
    todo = set(aliases)
    while todo:
        alias = todo.pop()
        if alias in joined:
            todo |= {one for on in joined[alias] for one in aliases_of(on)} - {alias}
        else:
            found.add(alias)
    return found


def source_columns(nodes: Iterable[exp.Expr]) -> dict[str, list[str]]:
    """alias -> names of its columns that the expressions use, in order of first use."""
    used: dict[str, dict[str, None]] = {}
    for node in nodes:
        for column in node.find_all(exp.Column):
            used.setdefault(column.table, {})[column.name] = None
    return {alias: list(names) for alias, names in used.items()}


def expressions_of(conjunction: Conjunction) -> Iterable[exp.Expr]:
    """All expressions of a conjunction, those of its subqueries and joins included."""
    for table in conjunction.tables:
        yield from on_of(table) or ()
    yield from conjunction.conditions
    yield from conjunction.lowers
    yield from conjunction.uppers
    for exists in conjunction.exists:
        yield from expressions_of(exists.inner)


def _is_true(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.Boolean) and bool(condition.this)


def not_holding(conditions: list[exp.Expr]) -> exp.Expr:
    """Return ``NOT (all of them)``, where unknown counts as not holding."""
    if not conditions:
        return exp.false()
    together = exp.and_(*(timing.wrapped(c) for c in conditions), copy=False, wrap=False)
    guarded = exp.Coalesce(this=together, expressions=[exp.false()])
    return exp.Not(this=guarded)


def free_columns(node: exp.Expr, bound: frozenset[str] = frozenset()) -> Iterator[exp.Column]:
    """The columns of an expression that no FROM clause inside of it gives."""
    if isinstance(node, exp.Column):
        if node.table not in bound:
            yield node
        return
    if isinstance(node, exp.Select):
        relations = [node.args.get("from_"), *node.args.get("joins", [])]
        bound |= {relation.this.alias_or_name for relation in relations if relation is not None}
    for child in node.iter_expressions():
        yield from free_columns(child, bound)
