"""A query over instants: every row carries the instant that it is evaluated at (``_instant``).

Aggregates, section 4. Each use of a source becomes its rows at each instant, ``now()`` the instant
of its block; what is grouped, ranked or limited is so at each instant by itself. Sound because
nothing of one instant then meets what is of another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.sql import timing
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import encloses_relation
from tapestry.sql.facts.grouping import by_values, is_global
from tapestry.sql.ir import Lifted, SourceTable
from tapestry.sql.lifted.events import Events
from tapestry.sql.lifted.global_rows import over_all_instants
from tapestry.sql.lifted.names import AT, ROWS_KEY
from tapestry.sql.lifted.ranges import ranges_of
from tapestry.sql.lifted.totals import first_rows, window_at
from tapestry.sql.write import build


class Lift:
    """Lifts queries; ``reads``: source → the CTE of its scan."""

    def __init__(self, arm: Lifted, reads: Mapping[str, str], events: Events) -> None:
        self.tables = {table.alias: table for table in arm.tables}
        self.reads, self.events, self.keyed = reads, events, arm.by_rows
        self.keys = arm.keys
        self.ranges = ranges_of(arm.tree, events.evaluated)
        self.columns: dict[str, dict[str, None]] = {}
        for column in arm.tree.find_all(exp.Column):
            if column.table in self.tables:
                self.columns.setdefault(column.table, {})[column.name] = None
                if column.name in (AT, ROWS_KEY):
                    raise Refusal(
                        f"a column is called {column.name}, which this model needs for itself",
                        column.sql("spark"),
                        "rename it in a view over the table",
                        code="own-column",
                    )
        self.numbers = count(1)

    def name(self, kind: str) -> str:
        """A new alias of our own."""
        return f"_{kind}{next(self.numbers)}"

    def instants(self, alias: str) -> exp.Table:
        """The instants of events, each once."""
        return self.events.instants(alias)

    # -- queries ------------------------------------------------------------------------------
    def rows(self, node: exp.Expr, keyed: bool = False) -> exp.Query:
        """The rows of a query at every instant: its columns, ``_instant``, where asked its key."""
        while isinstance(node, exp.Subquery):
            node = node.this
        if node.args.get("limit") is not None or node.args.get("offset") is not None:
            assert isinstance(node, exp.Query)
            return first_rows(self, node)
        if isinstance(node, exp.SetOperation):
            sides = [self.side(self.rows(one)) for one in (node.this, node.expression)]
            return type(node)(
                this=sides[0], expression=sides[1], distinct=bool(node.args.get("distinct"))
            )
        assert isinstance(node, exp.Select)
        return self.block(node, None, keyed)

    def side(self, query: exp.Query) -> exp.Query:
        """A side of a set operation: one SELECT, so that precedence does not matter."""
        if isinstance(query, exp.Select):
            return query
        return build.add_from(build.select_all(), build.subquery(query, self.name("q")))

    def block(self, node: exp.Select, outer: exp.Expr | None, keyed: bool = False) -> exp.Select:
        """One SELECT; ``outer`` is the instant of the row around a subquery."""
        query, instant, parts = self.from_clause(node, outer)
        for lateral in node.args.get("laterals") or []:  # of each row, whatever its instant
            query.append("laterals", lateral.copy())
        selects = [self.value(item, instant) for item in node.selects]
        where = node.args.get("where")
        conditions = [] if where is None else [self.value(where.this, instant)]
        if outer is not None and instant != outer:
            conditions.append(exp.EQ(this=instant.copy(), expression=outer.copy()))
        build.add_where(query, [build.operand(one) for one in conditions])
        query.set("expressions", selects)
        for clause in ("group", "having", "distinct"):
            if node.args.get(clause):
                query.set(clause, self.clause(node.args[clause], instant))
        window_at(query, instant)
        if outer is not None:
            return query
        if is_global(node):
            return over_all_instants(self, query, instant)
        if query.args.get("group") is not None:
            _group_by(query, instant)
        query.append("expressions", exp.alias_(instant.copy(), AT))
        if keyed:
            query.append("expressions", exp.alias_(keys.of_arm(1, parts), ROWS_KEY))
        return query

    def clause(self, clause: object, instant: exp.Expr) -> object:
        """A clause at an instant."""
        if isinstance(clause, list):
            return [self.value(one, instant) for one in clause]
        assert isinstance(clause, exp.Expr)
        return self.value(clause, instant)

    # -- FROM ---------------------------------------------------------------------------------
    def from_clause(
        self, node: exp.Select, outer: exp.Expr | None
    ) -> tuple[exp.Select, exp.Expr, list[exp.Expr]]:
        """The FROM clause, the instant of its rows, and what identifies each row."""
        from_ = node.args.get("from_")
        query = exp.Select()
        if from_ is None:
            if outer is not None:
                return query, outer, []
            alias = self.name("i")
            query.set("from_", exp.From(this=self.events.instants(alias)))
            return query, exp.column(AT, table=alias), []
        relation, instant, parts = self.relation(from_.this)
        query.set("from_", exp.From(this=relation))
        for join in node.args.get("joins") or []:
            instant, parts = self.join(query, join, instant, parts)
        return query, instant, parts

    def join(
        self, query: exp.Expr, node: exp.Join, left: exp.Expr, parts: list[exp.Expr]
    ) -> tuple[exp.Expr, list[exp.Expr]]:
        """One more relation, at the same instant."""
        relation, right, others = self.relation(node.this)
        side, kind = node.side, node.kind
        on: exp.Expr = exp.EQ(this=left.copy(), expression=right.copy())
        if node.args.get("on") is not None:
            at = right if side == "RIGHT" else left
            written = build.operand(self.value(node.args["on"], at))
            on = exp.And(this=written, expression=on)
        kept = kind if kind in ("SEMI", "ANTI") else ""
        query.append("joins", exp.Join(this=relation, side=side, kind=kept or None, on=on))
        if kept:
            return left, parts
        if side in ("RIGHT", "FULL"):
            parts = [keys.perhaps(part) for part in parts]
        if side in ("LEFT", "FULL"):
            others = [keys.perhaps(part) for part in others]
        if side == "FULL":
            left = exp.Coalesce(this=left.copy(), expressions=[right.copy()])
        return (right if side == "RIGHT" else left), parts + others

    def relation(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr, list[exp.Expr]]:
        """One relation of FROM over instants."""
        if encloses_relation(node):
            inner, instant, parts = self.relation(node.this)
            written: exp.Expr = exp.Paren(this=inner)
        elif isinstance(node, exp.Table):
            written, instant = self.visible(self.tables[node.alias])
            parts = [keys.of_row(exp.column(ROW_ID, table=node.alias))]
        else:
            alias = node.alias
            keyed = self.keyed and _keeps_rows(node.this)
            written = build.subquery(self.rows(node.this, keyed=keyed), alias)
            instant = exp.column(AT, table=alias)
            parts = [_part_of(node.this, alias)]
        for join in node.args.get("joins") or []:
            instant, parts = self.join(written, join, instant, parts)
        return written, instant, parts

    def visible(self, table: SourceTable) -> tuple[exp.Expr, exp.Expr]:
        """The rows of a source at each instant: those that have arrived and not ended."""
        listed: list[exp.Expr] = [build.column(name, table.alias) for name in self.used(table)]
        query = build.select([*listed, exp.column(AT, table="_e")])
        build.add_from(query, build.table(self.reads[table.source], table.alias))
        at = exp.column(AT, table="_e")
        conditions: list[exp.Expr] = []
        narrowed = [one.copy() for one in self.ranges.get(table.alias, [])]
        if table.appended:
            arrival = exp.column(ARRIVAL, table=table.alias)
            narrowed.append(exp.LTE(this=arrival.copy(), expression=self.events.frame.t.copy()))
            conditions.append(exp.LTE(this=arrival, expression=at.copy()))
        if table.ends:
            ended = exp.column(ENDED, table=table.alias)
            conditions.append(exp.LT(this=at.copy(), expression=ended))
        values = self.keys.get(table.alias, ())
        events = self.events.of("_e") if values else self.events.instants("_e")
        for value, key in zip(values, self.events.columns("_e"), strict=False):
            conditions.append(exp.NullSafeEQ(this=value.copy(), expression=key))
        on = build.conjunction(conditions)
        kind = None if on is not None else "CROSS"
        query.append("joins", exp.Join(this=events, kind=kind, on=on))
        build.add_where(query, narrowed)
        return build.subquery(query, table.alias), exp.column(AT, table=table.alias)

    def used(self, table: SourceTable) -> list[str]:
        """The columns of a use of a source that the query reads, and the hidden ones."""
        hidden = [ROW_ID] if self.keyed else []
        return [*self.columns.get(table.alias, {}), *hidden]

    # -- values -------------------------------------------------------------------------------
    def value(self, node: exp.Expr, instant: exp.Expr) -> exp.Expr:
        """A value or condition at an instant: the clock and the subqueries in it replaced."""
        copy = node.copy()
        for part in list(copy.walk(prune=lambda one: timing.is_now(one) or _is_query(one))):
            new = self.at(part, instant)
            if new is part:
                continue
            if part is copy:
                return new
            part.replace(new)
        return copy

    def at(self, part: exp.Expr, instant: exp.Expr) -> exp.Expr:
        """A clock or a subquery at an instant; any other part as it is."""
        if timing.is_now(part):
            return timing.clock_at(part, instant)
        if not _is_query(part):
            return part
        exists = isinstance(part.parent, exp.Exists)
        query = self.inner(part, instant, exists)
        return query if exists else exp.Subquery(this=query)

    def inner(self, node: exp.Expr, instant: exp.Expr, exists: bool) -> exp.Query:
        """A subquery of an expression, at the instant of the row around it."""
        while isinstance(node, exp.Subquery):
            node = node.this
        node = node.copy()
        limit = node.args.get("limit")
        if exists and limit is not None and int(limit.expression.name) > 0:
            node.set("limit", None)
        if not _is_correlated(node):
            assert isinstance(node, exp.Query)
            alias = self.name("q")
            listed = [build.column(name, alias) for name in node.named_selects]
            query = build.add_from(build.select(listed), build.subquery(self.rows(node), alias))
            same = exp.EQ(this=exp.column(AT, table=alias), expression=instant.copy())
            return build.add_where(query, [same])
        if isinstance(node, exp.SetOperation):
            raise Refusal(
                "a set operation in a subquery that uses columns of the query around it",
                node.sql("spark"),
                "join the table, and rank its rows with row_number() in a derived table",
                code="correlated",
            )
        assert isinstance(node, exp.Select)
        query = self.block(node, instant)
        if node.args.get("limit") is not None:  # of the rows at that instant, which WHERE says
            query.set("limit", node.args["limit"].copy())
            if node.args.get("order") is not None:
                query.set("order", self.value(node.args["order"], instant))
        return query


def _keeps_rows(query: exp.Expr) -> bool:
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    return not by_values(inner)


def _part_of(query: exp.Expr, alias: str) -> exp.Expr:
    """What identifies the row of a derived table in a derivation."""
    if _keeps_rows(query):
        return keys.nested(exp.column(ROWS_KEY, table=alias))
    assert isinstance(query, exp.Query)
    values = [build.column(name, alias) for name in query.named_selects]
    return keys.nested(keys.of_arm(1, [keys.of_values(values)]))


def _group_by(query: exp.Select, instant: exp.Expr) -> None:
    """Each instant is grouped by itself, in every grouping set."""
    group = query.args["group"]
    group.append("expressions", instant.copy())


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _is_correlated(node: exp.Expr) -> bool:
    inside = {one.alias_or_name for one in node.find_all(exp.Table, exp.Subquery, exp.Lateral)}
    return any(one.table not in inside for one in node.find_all(exp.Column) if one.table)
