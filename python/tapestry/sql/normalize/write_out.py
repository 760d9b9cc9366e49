"""An arm by itself: its CTEs written out, every relation under an alias of its own.

Then a column means one relation wherever it stands, and what is lifted over instants needs no
scopes. Sound because a CTE is by definition its text, and an alias has no meaning of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.copies import copied
from tapestry.sql.facts.from_clause import derived_tables, encloses_relation, leaf_selects
from tapestry.sql.facts.grouping import aggregates, by_values
from tapestry.sql.facts.values import Names
from tapestry.sql.ir import SourceTable
from tapestry.sql.normalize.needs_instants import is_scalar
from tapestry.sql.normalize.scope import Scope, with_ctes
from tapestry.sql.read.generators import kinds_made
from tapestry.sql.read.open_clauses import is_aggregate
from tapestry.sql.read.open_qualify import OuterBlock
from tapestry.sql.read.parse import table_name
from tapestry.sql.read.refuse_unsupported import (
    UPSTREAM,
    odd_relation,
    refuse_uncompared,
    refuse_uneven,
)
from tapestry.sql.work import size, spend
from tapestry.sql.write import build

Aliases = Mapping[str, str]
UNSEEN = ""
"""Stands for an alias of a query around: nothing in FROM sees it."""


def lifted_arm(node: exp.Expr, scope: Scope, catalog: Catalog, names: Names) -> AtInstants:
    """Return an arm that is evaluated at instants, written out, with its answers' identity."""
    writer = WriteOut(catalog, names)
    tree = writer.query(node, scope, {})
    by_value = by_values(tree)
    generated = None if by_value else next(_generators(tree), None)
    if generated is not None:
        raise Refusal(
            "a generator in a query whose rows are told apart by those of FROM, beside a subquery"
            " that is evaluated at instants",
            generated.sql("spark").strip(),
            "explode in a continuous model of its own, and read that one here",
            code="generator",
        )
    shown = any(item.find(exp.Query) is not None for item in tree.selects)
    refuse_uncompared(tree, by_value or shown)
    return AtInstants(tree=tree, tables=tuple(writer.tables.values()), by_rows=not by_value)


class WriteOut:
    """Writes queries out; ``tables`` are the uses of sources so far, by alias."""

    def __init__(self, catalog: Catalog, names: Names) -> None:
        self.catalog, self.names = catalog, names
        self.tables: dict[str, SourceTable] = {}
        self.kinds: dict[tuple[str, str], exp.DataType] = {}
        """The types of what generators make, by their aliases and columns."""

    def query(self, node: exp.Expr, scope: Scope, outer: Aliases) -> exp.Query:
        """A query; ``outer`` has the aliases of the queries around it."""
        while isinstance(node, exp.Subquery) and not _modified(node):
            scope = with_ctes(node, scope)
            node = node.this
        spend(4 * size(node), "queries in FROM, each where it is used")
        scope = with_ctes(node, scope)
        if isinstance(node, exp.Subquery):  # (SELECT …) ORDER BY … LIMIT …
            inner = exp.Subquery(this=self.query(node.this, scope, outer))
            return self.modified(_around(inner), node, scope, outer)
        if isinstance(node, exp.SetOperation):
            refuse_uneven(node, [node.this, node.expression])
            sides = (self.side(one, scope, outer) for one in (node.this, node.expression))
            left, right = sides
            both = type(node)(this=left, expression=right, distinct=node.args.get("distinct"))
            return self.modified(both, node, scope, outer)
        if not isinstance(node, exp.Select):
            hint = "write it as SELECT … FROM a table"
            raise Refusal("this is not a SELECT", node.sql("spark"), hint, code="not-a-select")
        return self.select(node, scope, outer)

    def side(self, node: exp.Expr, scope: Scope, outer: Aliases) -> exp.Query:
        """A side of a set operation, in parentheses where it is no plain SELECT."""
        side = self.query(node, scope, outer)
        if isinstance(side, exp.Select) and not _modified(side):
            return side
        return exp.Subquery(this=side)

    def modified(self, query: exp.Query, node: exp.Expr, scope: Scope, outer: Aliases) -> exp.Query:
        """The query with the ORDER BY and LIMIT of what it was written from."""
        for clause in ("order", "limit", "offset"):
            if node.args.get(clause) is not None:
                query.set(clause, self.part(node.args[clause], scope, outer))
        return query

    def select(self, node: exp.Select, scope: Scope, outer: Aliases) -> exp.Select:
        """One SELECT."""
        inner = dict(outer)
        from_ = node.args.get("from_")
        clauses = [] if from_ is None else [from_, *(node.args.get("joins") or [])]
        relations = [self.relation(clause.this, scope, inner) for clause in clauses]
        query = exp.Select()
        for one in node.args.get("laterals") or []:
            query.append("laterals", self.lateral(one, scope, inner))
        for name, value in node.args.items():
            if name in ("from_", "joins", "with_", "laterals") or not value:
                continue
            listed = value if isinstance(value, list) else [value]
            written = [
                self.part(one, scope, inner) if isinstance(one, exp.Expr) else one for one in listed
            ]
            query.set(name, written if isinstance(value, list) else written[0])
        for clause, relation in zip(clauses, relations, strict=True):
            if isinstance(clause, exp.From):
                query.set("from_", exp.From(this=relation))
                continue
            join = self.join(clause, relation, scope, inner)
            query.append("joins", join)
        return subqueries_apart(query, self.names)

    def lateral(self, node: exp.Lateral, scope: Scope, inner: dict[str, str]) -> exp.Lateral:
        """A generator behind the FROM clause: it makes rows of each row at an instant."""
        call, alias = node.this, node.args["alias"]
        if timing.contains_now(call) or call.find(exp.Query) is not None:
            raise Refusal(
                "a generator over the clock, or over a subquery",
                node.sql("spark").strip(),
                f"write the condition on time in WHERE, or {UPSTREAM}",
                code="generator",
            )
        lateral = copied(node)
        lateral.set("this", self.part(call, scope, inner))
        name = self.names.new(alias.name)
        inner[alias.name] = name
        lateral.args["alias"].set("this", exp.to_identifier(name))
        for column, kind in zip(alias.columns, kinds_made(lateral.this), strict=False):
            self.kinds[name, column.name] = kind
        return lateral

    def join(self, node: exp.Join, relation: exp.Expr, scope: Scope, inner: Aliases) -> exp.Join:
        """A join of a relation that is written out."""
        join = exp.Join(this=relation, side=node.args.get("side"), kind=node.args.get("kind"))
        if node.args.get("on") is not None:
            join.set("on", self.part(node.args["on"], scope, inner))
        return join

    def relation(self, node: exp.Expr, scope: Scope, inner: dict[str, str]) -> exp.Expr:
        """One relation of FROM; its alias is added to those of the block."""
        if encloses_relation(node):
            written: exp.Expr = exp.Paren(this=self.relation(node.this, scope, inner))
        elif isinstance(node, exp.Table) and table_name(node) not in scope.ctes:
            written = self.source(node, scope, inner)
        elif isinstance(node, exp.Table):
            body, around = scope.ctes[table_name(node)]
            written = self.derived(node, self.query(body, around, {}), inner)
        elif isinstance(node, exp.Subquery):
            unseen = dict.fromkeys(inner, UNSEEN)
            query = self.query(node.this, with_ctes(node, scope), unseen)
            written = self.derived(node, query, inner)
        else:
            raise odd_relation(node)
        for clause in node.args.get("joins") or []:
            other = self.relation(clause.this, scope, inner)
            written.append("joins", self.join(clause, other, scope, inner))
        return written

    def source(self, node: exp.Table, scope: Scope, inner: dict[str, str]) -> exp.Table:
        """A use of a source."""
        name, written = table_name(node), node.alias_or_name
        source = self.catalog.relations[name]
        assert isinstance(source, Source)
        inner[written] = alias = self.names.new(written)
        appended = source.arrival is not None
        self.tables[alias] = SourceTable(alias, name, written.lower(), appended, source.ends)
        return exp.Table(this=exp.to_identifier(alias), alias=_alias(alias))

    def derived(self, node: exp.Expr, query: exp.Query, inner: dict[str, str]) -> exp.Subquery:
        """A derived table, or a use of a CTE; a list of names behind its alias moves inside."""
        inner[node.alias_or_name] = alias = self.names.new(node.alias_or_name)
        given = node.args.get("alias")
        listed = [one.name for one in given.columns] if given is not None else []
        if listed and len(listed) != len(query.selects):
            raise Refusal(
                f"{node.alias_or_name} gives {len(listed)} names to {len(query.selects)} columns",
                node.sql("spark"),
                "name all of them, or none",
                code="uneven-columns",
            )
        if listed:
            _rename(query, listed)
        return exp.Subquery(this=query, alias=_alias(alias))

    def part(self, node: exp.Expr, scope: Scope, aliases: Aliases) -> exp.Expr:
        """Return an expression of a clause, with its columns and subqueries written out."""

        def replace(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and aliases.get(part.table) == UNSEEN:
                raise Refusal(
                    "a derived table uses a column of a query around it",
                    part.sql("spark"),
                    "write the comparison in the WHERE of the subquery, not in a query in its FROM",
                    code="correlated",
                )
            if isinstance(part, exp.Column) and part.table in aliases:
                column = copied(part)
                column.set("table", exp.to_identifier(aliases[part.table]))
                column.type = self.kinds.get((column.table, column.name), column.type)
                return column
            if isinstance(part, exp.Subquery):
                return exp.Subquery(this=self.query(part, scope, aliases))
            if isinstance(part, exp.Query):
                return self.query(part, scope, aliases)
            return part

        return _transformed(copied(node), replace)


def _transformed(node: exp.Expr, replace: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    for part in list(node.walk(prune=lambda one: isinstance(one, exp.Query | exp.Column))):
        if isinstance(part, exp.Query | exp.Column):
            new = replace(part)
            if part is node:
                return new
            part.replace(new)
    return node


def _generators(query: exp.Expr) -> Iterator[exp.Lateral]:
    """The generators of a query and of the tables of its FROM clause."""
    for select in leaf_selects(query):
        yield from select.args.get("laterals") or []
        for table in derived_tables(select):
            yield from _generators(table.this)


def _rename(query: exp.Query, names: list[str]) -> None:
    first: exp.Expr = query
    while not isinstance(first, exp.Select):
        first = first.this
    items = []
    for item, name in zip(first.selects, names, strict=True):
        items.append(exp.alias_(item.unalias(), exp.to_identifier(name, quoted=True)))
    first.set("expressions", items)


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name))


def _modified(node: exp.Expr) -> bool:
    return any(node.args.get(clause) is not None for clause in ("limit", "offset", "order"))


def _around(inner: exp.Subquery) -> exp.Select:
    """Return ``SELECT columns FROM (…)``, to which a LIMIT behind parentheses applies."""
    inner.set("alias", _alias("_q"))
    names = inner.this.named_selects
    listed = [exp.column(exp.to_identifier(name, quoted=True), table="_q") for name in names]
    return exp.select(*listed).from_(inner)


def subqueries_apart(select: exp.Select, names: Names) -> exp.Select:
    """The block with its subqueries outside of GROUP BY and ON; changed in place where it is one.

    A subquery by itself may stand anywhere in Spark's SQL; one that uses a column of the query
    around, as each does over instants, not beside aggregates and not in ON.

    Sound: a value of the select list is computed from those of its group, one a row; and a
    condition of an inner join is one of WHERE, unless a join after it keeps rows without a match.
    """
    _out_of_joins(select)
    grouped = select.args.get("group") is not None or aggregates(select)
    shown = [*select.selects, *(select.args["order"].expressions if "order" in select.args else ())]
    if not grouped or not any(_scalars(item) for item in shown):
        return select
    return OuterBlock(select, names.new("q"), subqueries=False).block()


def _scalars(item: exp.Expr) -> list[exp.Expr]:
    """The scalar subqueries of an expression, outside of aggregates."""
    parts = item.walk(prune=lambda one: isinstance(one, exp.Query) or is_aggregate(one))
    return [part for part in parts if isinstance(part, exp.Subquery) and is_scalar(part)]


def _out_of_joins(select: exp.Select) -> None:
    parts = select.walk(prune=lambda one: one is not select and isinstance(one, exp.Query))
    joins = [part for part in parts if isinstance(part, exp.Join)]
    outer = any(join.side for join in joins)
    for join in joins:
        on = join.args.get("on")
        if on is None or not _scalars(on):
            continue
        if outer or join.parent is not select:
            raise Refusal(
                "a subquery stands for a value in ON, beside an outer join",
                on.sql("spark"),
                "join it as a derived table: JOIN (SELECT max(x) AS x FROM …) AS q",
                code="scalar-subquery",
            )
        conditions = list(on.flatten()) if isinstance(on, exp.And) else [on]
        kept = [one for one in conditions if not _scalars(one)]
        join.set("on", build.conjunction([build.operand(one.copy()) for one in kept]))
        if not kept:
            join.set("kind", "CROSS")
        where = select.args.get("where")
        moved = [build.operand(one.copy()) for one in conditions if _scalars(one)]
        build.add_where(
            select, [*([build.operand(where.this)] if where is not None else []), *moved]
        )
