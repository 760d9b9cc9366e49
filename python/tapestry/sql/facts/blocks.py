"""The SELECT blocks of a query with its CTEs written out, and the resolution of names in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.from_clause import derived_tables, leaf_selects

CLAUSES = ("where", "having", "group", "order", "windows", "distinct")


@dataclass(frozen=True)
class BlockScope:
    """One SELECT, with the block around it where it is a subquery of an expression."""

    node: exp.Select
    outer: BlockScope | None = None

    def conditions(self) -> Iterator[exp.Expr]:
        """Yield the block's expressions that may read the clock: select list, clauses, ON."""
        yield from self.node.selects
        for clause in CLAUSES:
            value = self.node.args.get(clause)
            yield from value if isinstance(value, list) else [value] if value else []
        yield from (join.args["on"] for join in _joins(self.node) if join.args.get("on"))

    def relation(self, alias: str) -> exp.Subquery | None:
        """Return the derived table of an alias, of this block or one around it.

        None stands for the alias of a generator.
        """
        scope: BlockScope | None = self
        while scope is not None:
            for table in derived_tables(scope.node):
                if table.alias == alias:
                    return table
            scope = scope.outer
        return None

    def inside(self, query: exp.Expr) -> BlockQuery:
        """Return a subquery of an expression of this block, with this block around it."""
        return BlockQuery(query, self)

    def item(self, name: str) -> exp.Expr:
        """Return the expression of a column of the select list; KeyError if there is none."""
        for item in self.node.selects:
            if item.alias_or_name.lower() == name.lower():
                return item.unalias()
        raise KeyError(name)

    def equalities(self, aliases: Mapping[str, str], names: set[str]) -> Iterator[exp.Expr]:
        """Yield the equalities between columns of these tables that hold in every row of the block.

        ``aliases`` maps the use of a table to its name, ``names`` are those names that are present.
        The ON of a LEFT JOIN holds where its table has a row.
        """
        where = self.node.args.get("where")
        conditions = [] if where is None else [(where.this, "")]
        for join in self.node.args.get("joins") or []:
            if join.args.get("on") is not None and join.side in ("", "LEFT"):
                must = join.this.alias_or_name if join.side or join.kind else ""
                conditions.append((join.args["on"], must))
        for condition, must in conditions:
            for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
                part = part.unnest()
                if not isinstance(part, exp.EQ) or timing.contains_now(part):
                    continue
                sides = [part.this.unnest(), part.expression.unnest()]
                if not all(isinstance(side, exp.Column) for side in sides):
                    continue
                tables = [side.table for side in sides]
                if all(aliases.get(one) in names for one in tables) and (
                    not must or must in tables
                ):
                    copy = part.copy()
                    for column in copy.find_all(exp.Column):
                        column.set("table", exp.to_identifier(aliases[column.table]))
                    yield copy


@dataclass(frozen=True)
class BlockQuery:
    """A query, and the block around it."""

    node: exp.Expr
    outer: BlockScope | None


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conjuncts of a condition, without the parentheses around them."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    else:
        yield condition


def leaf_blocks(query: exp.Expr | BlockQuery) -> Iterator[BlockScope]:
    """Yield the SELECTs that make a query's rows, each with the columns' names of the first."""
    node, outer = (query.node, query.outer) if isinstance(query, BlockQuery) else (query, None)
    names: list[str] = []
    for select in leaf_selects(node):
        names = names or list(select.named_selects)
        if names != list(select.named_selects):
            select = select.copy()
            items = zip(select.selects, names, strict=True)
            select.set(
                "expressions",
                [exp.alias_(one.unalias(), exp.to_identifier(n, quoted=True)) for one, n in items],
            )
        yield BlockScope(select, outer)


def blocks_of(query: exp.Expr, outer: BlockScope | None = None) -> Iterator[BlockScope]:
    """Yield every block of a query, including those of its derived tables and subqueries."""
    for select in leaf_selects(query):
        scope = BlockScope(select, outer)
        yield scope
        derived = list(derived_tables(select))
        for table in derived:
            yield from blocks_of(table.this)
        known = {id(table) for table in derived}
        for condition in scope.conditions():
            for part in condition.walk(prune=lambda one: isinstance(one, exp.Query)):
                if isinstance(part, exp.Query) and id(part) not in known:
                    yield from blocks_of(part, scope)


def _joins(select: exp.Select) -> Iterator[exp.Join]:
    left = [*(select.args.get("joins") or [])]
    from_ = select.args.get("from_")
    relations = [] if from_ is None else [from_.this]
    while left or relations:
        if left:
            join = left.pop()
            yield join
            relations.append(join.this)
            continue
        relation = relations.pop()
        left += relation.args.get("joins") or []
        if isinstance(relation, exp.Paren):
            relations.append(relation.this)
