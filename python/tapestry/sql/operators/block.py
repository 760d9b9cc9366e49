"""One SELECT of a written-out query, taken apart: its relations, its conditions, its subqueries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.blocks import conjuncts
from tapestry.sql.facts.grouping import aggregates, is_limited, own_parts


class NotComparedError(Exception):
    """A construct whose two versions cannot be compared, so that the query is computed whole."""


@dataclass(frozen=True)
class JoinedRelation:
    """One relation of FROM; ``join`` is None for the first."""

    alias: str
    node: exp.Expr
    join: exp.Join | None

    @property
    def side(self) -> str:
        """LEFT | RIGHT | FULL | '' of its join."""
        return "" if self.join is None else self.join.side

    @property
    def kind(self) -> str:
        """SEMI | ANTI | CROSS | '' of its join."""
        return "" if self.join is None else self.join.kind

    @property
    def looked_at(self) -> bool:
        """Whether its join only asks whether it has a row (LEFT SEMI, LEFT ANTI)."""
        return self.kind in ("SEMI", "ANTI")

    @property
    def on(self) -> tuple[exp.Expr, ...]:
        """The conjuncts of its ON."""
        on = None if self.join is None else self.join.args.get("on")
        return () if on is None else tuple(conjuncts(on))


@dataclass(frozen=True)
class SelectBlock:
    """A SELECT. Raises NotComparedError for a FROM clause that cannot be compared."""

    node: exp.Select

    @cached_property
    def relations(self) -> tuple[JoinedRelation, ...]:
        """The relations of its FROM clause, in the order written."""
        from_ = self.node.args.get("from_")
        if from_ is None:
            return ()
        found = [JoinedRelation(from_.this.alias_or_name, from_.this, None)]
        for join in self.node.args.get("joins") or []:
            found.append(JoinedRelation(join.this.alias_or_name, join.this, join))
        for one in found:
            if not isinstance(one.node, exp.Table | exp.Subquery) or one.node.args.get("joins"):
                raise NotComparedError("a join in parentheses")
            if any(part.find(exp.Query) is not None for part in one.on):
                raise NotComparedError("a subquery in ON")
        return tuple(found)

    @cached_property
    def aliases(self) -> frozenset[str]:
        """The aliases in its FROM clause, without those of LATERAL VIEW."""
        return frozenset(one.alias for one in self.relations)

    @cached_property
    def generated(self) -> frozenset[str]:
        """The aliases of its LATERAL VIEWs."""
        return frozenset(one.alias for one in self.node.args.get("laterals") or [])

    @cached_property
    def supplied(self) -> frozenset[str]:
        """The relations whose columns an outer join may fill with NULL, or that are not shown."""
        found: set[str] = set()
        before: set[str] = set()
        for one in self.relations:
            if one.side == "FULL":
                found |= before | {one.alias}
            elif one.side == "RIGHT":
                found |= before
            elif one.side == "LEFT" or one.looked_at:
                found.add(one.alias)
            before.add(one.alias)
        for lateral in self.node.args.get("laterals") or []:
            if {column.table for column in lateral.this.find_all(exp.Column)} & found:
                found.add(lateral.alias)
        return frozenset(found)

    @cached_property
    def where(self) -> tuple[exp.Expr, ...]:
        """The conjuncts of WHERE."""
        where = self.node.args.get("where")
        return () if where is None else tuple(conjuncts(where.this))

    @cached_property
    def windows(self) -> tuple[exp.Window, ...]:
        """Its window functions."""
        return tuple(part for part in own_parts(self.node) if isinstance(part, exp.Window))

    @cached_property
    def grouped(self) -> bool:
        """Whether it aggregates rows, by GROUP BY or all of them."""
        group = self.node.args.get("group") is not None
        return group or self.node.args.get("having") is not None or aggregates(self.node)

    @property
    def plain(self) -> bool:
        """Whether each of its rows is made of one row of FROM."""
        return not (
            self.grouped or self.windows or is_limited(self.node) or self.node.args.get("distinct")
        )

    @cached_property
    def clauses(self) -> tuple[exp.Expr, ...]:
        """The expressions of the block: items, WHERE, GROUP BY, HAVING; ON stands with its join."""
        found: list[exp.Expr] = [*self.node.selects]
        for name in ("where", "group", "having"):
            if self.node.args.get(name) is not None:
                found.append(self.node.args[name])
        return tuple(found)

    @cached_property
    def subqueries(self) -> tuple[exp.Expr, ...]:
        """The outermost subqueries of its expressions, each as it stands there."""
        return tuple(
            part
            for clause in self.clauses
            for part in clause.walk(prune=lambda node: isinstance(node, exp.Query))
            if isinstance(part, exp.Query)
        )


def is_bag_union(node: exp.Expr) -> bool:
    """Return whether a query is a UNION ALL, which keeps all rows of both sides."""
    distinct = node.args.get("distinct")
    return isinstance(node, exp.Union) and not distinct and not is_limited(node)


def is_correlated(query: exp.Expr) -> bool:
    """Return whether a query uses a column of a block around it."""
    own: set[str] = set()
    for select in query.find_all(exp.Select):
        block = SelectBlock(select)
        own |= block.aliases | block.generated
    return any(column.table and column.table not in own for column in query.find_all(exp.Column))


def asks_in_list(query: exp.Expr) -> bool:
    """Return whether a select list has EXISTS or IN over a subquery."""
    return any(
        isinstance(part, exp.Exists | exp.In) and part.find(exp.Query) is not None
        for select in query.find_all(exp.Select)
        for item in select.selects
        for part in item.walk(prune=lambda node: isinstance(node, exp.Query))
    )


def is_timeless(condition: exp.Expr) -> bool:
    """Return whether a condition has neither the clock nor subqueries: a row decides it alone."""
    return not timing.contains_now(condition) and condition.find(exp.Query) is None
