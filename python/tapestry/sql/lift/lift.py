"""A query over cases: every row carries the case that it is evaluated for (``_instant``).

Aggregates, section 4. Each use of a source becomes its rows in each case, ``now()`` the instant of
the case; what is grouped, ranked or limited is so in each case by itself. Sound because nothing of
one case then meets what is of another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ROW_ID
from tapestry.sql import timing
from tapestry.sql.copies import copied
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import encloses_relation, opened
from tapestry.sql.facts.grouping import by_values, is_global, is_limited
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT, ROWS_KEY, Cases
from tapestry.sql.lift.global_rows import over_all_cases
from tapestry.sql.lift.totals import first_rows, window_at
from tapestry.sql.write import build


class Lift:
    """Lifts queries over ``cases``.

    ``tables``: the uses of sources; ``reads``: source → the CTE of its scan; ``keyed``: what
    identifies the rows of FROM is carried along.
    """

    def __init__(
        self,
        tree: exp.Query,
        tables: Sequence[SourceTable],
        reads: Mapping[str, str],
        cases: Cases,
        keyed: bool = False,
    ) -> None:
        self.tables = {table.alias: table for table in tables}
        self.reads, self.cases, self.keyed = reads, cases, keyed
        self.shares = any(cases.in_every_case(table) for table in tables)
        self.columns: dict[str, dict[str, None]] = {}
        for column in tree.find_all(exp.Column):
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
        """Return a new generated alias."""
        return f"_{kind}{next(self.numbers)}"

    def every(self, alias: str) -> exp.Table:
        """Every case, each once."""
        return self.cases.every(alias)

    # -- queries ------------------------------------------------------------------------------
    def rows(self, node: exp.Expr, keyed: bool = False) -> exp.Query:
        """The rows of a query in every case: its columns, ``_instant``, where asked its key."""
        node = opened(node)
        if is_limited(node):
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
        """One SELECT; ``outer`` is the case of the row around a subquery."""
        query, case, parts = self.from_clause(node, outer)
        for lateral in node.args.get("laterals") or []:  # of each row, whatever its case
            query.append("laterals", copied(lateral))
        selects = [self.value(item, case) for item in node.selects]
        where = node.args.get("where")
        conditions = [] if where is None else [self.value(where.this, case)]
        if outer is not None and case != outer:  # else nothing in it differs from case to case
            conditions.append(exp.EQ(this=copied(case), expression=copied(outer)))
        build.add_where(query, [build.operand(one) for one in conditions])
        query.set("expressions", selects)
        for clause in ("group", "having", "distinct"):
            if node.args.get(clause):
                query.set(clause, self.clause(node.args[clause], case))
        window_at(query, case)
        if outer is not None:
            return query
        if is_global(node):
            return over_all_cases(self, query, case)
        if query.args.get("group") is not None:
            _group_by(query, case)
        query.append("expressions", exp.alias_(copied(case), AT))
        if keyed:
            query.append("expressions", exp.alias_(keys.of_arm(1, parts), ROWS_KEY))
        return query

    def clause(self, clause: object, case: exp.Expr) -> object:
        """Return a clause lifted to a case."""
        if isinstance(clause, list):
            return [self.value(one, case) for one in clause]
        assert isinstance(clause, exp.Expr)
        return self.value(clause, case)

    # -- FROM ---------------------------------------------------------------------------------
    def from_clause(
        self, node: exp.Select, outer: exp.Expr | None
    ) -> tuple[exp.Select, exp.Expr, list[exp.Expr]]:
        """The FROM clause, the case of its rows, and what identifies each row."""
        from_ = node.args.get("from_")
        query = exp.Select()
        if from_ is None:
            if outer is not None:
                return query, outer, []
            alias = self.name("i")
            query.set("from_", exp.From(this=self.every(alias)))
            return query, exp.column(AT, table=alias), []
        relation, case, parts = self.relation(from_.this)
        query.set("from_", exp.From(this=relation))
        for join in node.args.get("joins") or []:
            case, parts = self.join(query, join, case, parts)
        if case is None:
            case = self.spread(query) if outer is None else outer
        return query, case, parts

    def spread(self, relation: exp.Expr) -> exp.Expr:
        """Join each row with every case, in a column of the given name.

        ``relation`` is what takes one more join: a query, or parentheses in its FROM.
        """
        alias = self.name("i")
        relation.append("joins", exp.Join(this=self.every(alias), kind="CROSS"))
        return exp.column(AT, table=alias)

    def join(
        self, query: exp.Expr, node: exp.Join, left: exp.Expr | None, parts: list[exp.Expr]
    ) -> tuple[exp.Expr | None, list[exp.Expr]]:
        """One more relation, of the same case; None: that is any."""
        relation, right, others = self.relation(node.this)
        side, kind = node.side, node.kind
        kept = kind if kind in ("SEMI", "ANTI") else ""
        written, asks = node.args.get("on"), False
        if written is not None:
            asks = not self.steady(written)
        outer_left = bool(kept) or side in ("LEFT", "FULL")
        if left is None and (asks or (right is not None and outer_left)):
            left = self.spread(query)
        if right is None and left is not None and side in ("RIGHT", "FULL"):
            first = relation.unnest() if isinstance(relation, exp.Paren) else relation
            right, relation = self.spread(first), exp.Paren(this=relation)
        at = right if side == "RIGHT" else left
        conditions = [] if written is None else [build.operand(self.value(written, at))]
        if left is not None and right is not None:
            conditions.append(exp.EQ(this=copied(left), expression=copied(right)))
        on = build.conjunction(conditions)
        how = kept or (None if on is not None or side else "CROSS")
        query.append("joins", exp.Join(this=relation, side=side, kind=how, on=on))
        if kept:
            return left, parts
        if side in ("RIGHT", "FULL"):
            parts = [keys.perhaps(part) for part in parts]
        if side in ("LEFT", "FULL"):
            others = [keys.perhaps(part) for part in others]
        if side == "FULL" and left is not None and right is not None:
            left = exp.Coalesce(this=copied(left), expressions=[copied(right)])
        return (right if side == "RIGHT" or left is None else left), parts + others

    def relation(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None, list[exp.Expr]]:
        """One relation of FROM over cases; the case of its rows, None where that is any."""
        case: exp.Expr | None
        if encloses_relation(node):
            inner, case, parts = self.relation(node.this)
            written: exp.Expr = exp.Paren(this=inner)
        elif isinstance(node, exp.Table):
            written, case = self.visible(self.tables[node.alias])
            parts = [keys.of_row(exp.column(ROW_ID, table=node.alias))]
        else:
            alias = node.alias
            keyed = self.keyed and _keeps_rows(node.this)
            if self.steady(node.this):
                inner_query = self.unlifted(node.this)
                assert isinstance(inner_query, exp.Query)
                written, case = build.subquery(inner_query, alias), None
            else:
                written = build.subquery(self.rows(node.this, keyed=keyed), alias)
                case = exp.column(AT, table=alias)
            parts = [_part_of(node.this, alias)]
        for join in node.args.get("joins") or []:
            case, parts = self.join(written, join, case, parts)
        return written, case, parts

    def steady(self, node: exp.Expr) -> bool:
        """Return whether an expression is the same in every case."""
        if not self.shares or timing.contains_now(node):
            return False
        used = (self.tables.get(table.name) for table in node.find_all(exp.Table))
        return all(table is None or self.cases.in_every_case(table) for table in used)

    def unlifted(self, node: exp.Expr) -> exp.Expr:
        """Return a query over the reads of its sources, not lifted."""
        copy = copied(node)
        for table in list(copy.find_all(exp.Table)):
            if (source := self.tables.get(table.name)) is not None:
                table.replace(build.table(self.reads[source.source], source.alias))
        return copy

    def visible(self, table: SourceTable) -> tuple[exp.Expr, exp.Expr | None]:
        """The rows of a source in each case."""
        if self.cases.in_every_case(table):
            return build.table(self.reads[table.source], table.alias), None
        listed: list[exp.Expr] = [build.column(name, table.alias) for name in self.used(table)]
        query = build.select([*listed, exp.column(AT, table="_e")])
        build.add_from(query, build.table(self.reads[table.source], table.alias))
        there = self.cases.visible(table, "_e")
        on = build.conjunction(there.on)
        kind = None if on is not None else "CROSS"
        query.append("joins", exp.Join(this=there.cases, kind=kind, on=on))
        build.add_where(query, there.where)
        return build.subquery(query, table.alias), exp.column(AT, table=table.alias)

    def used(self, table: SourceTable) -> list[str]:
        """The columns of a use of a source that the query reads, and the hidden ones."""
        hidden = [ROW_ID] if self.keyed else []
        return [*self.columns.get(table.alias, {}), *hidden]

    # -- values -------------------------------------------------------------------------------
    def value(self, node: exp.Expr, case: exp.Expr | None) -> exp.Expr:
        """A value or condition in a case: the clock and the subqueries in it replaced."""
        if case is None or (node.find(exp.Query) is not None and self.steady(node)):
            return self.unlifted(node)
        copy = copied(node)
        for part in list(copy.walk(prune=lambda one: timing.is_now(one) or _is_query(one))):
            new = self.at(part, case)
            if new is part:
                continue
            if part is copy:
                return new
            part.replace(new)
        return copy

    def at(self, part: exp.Expr, case: exp.Expr) -> exp.Expr:
        """A clock or a subquery in a case; any other part as it is."""
        if timing.is_now(part):
            return timing.clock_at(part, case)
        if not _is_query(part):
            return part
        if self.steady(part):
            return self.unlifted(part)
        exists = isinstance(part.parent, exp.Exists)
        query = self.inner(part, case, exists)
        return query if exists else exp.Subquery(this=query)

    def inner(self, node: exp.Expr, case: exp.Expr, exists: bool) -> exp.Query:
        """A subquery of an expression, at the case of the row around it."""
        node = copied(opened(node))
        limit = node.args.get("limit")
        if exists and limit is not None and int(limit.expression.name) > 0:
            node.set("limit", None)
        if not _is_correlated(node):
            assert isinstance(node, exp.Query)
            alias = self.name("q")
            listed = [build.column(name, alias) for name in node.named_selects]
            query = build.add_from(build.select(listed), build.subquery(self.rows(node), alias))
            same = exp.EQ(this=exp.column(AT, table=alias), expression=copied(case))
            return build.add_where(query, [same])
        if isinstance(node, exp.SetOperation):
            raise Refusal(
                "a set operation in a subquery that uses columns of the query around it",
                node.sql("spark"),
                "join the table, and rank its rows with row_number() in a derived table",
                code="correlated",
            )
        assert isinstance(node, exp.Select)
        query = self.block(node, case)
        if node.args.get("limit") is not None:  # of the rows at that case, which WHERE says
            query.set("limit", copied(node.args["limit"]))
            if node.args.get("order") is not None:
                query.set("order", self.value(node.args["order"], case))
        return query


def _keeps_rows(query: exp.Expr) -> bool:
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    return not by_values(inner)


def _part_of(query: exp.Expr, alias: str) -> exp.Expr:
    """Return the part of a key that identifies the row of a derived table in a derivation."""
    if _keeps_rows(query):
        return keys.nested(exp.column(ROWS_KEY, table=alias))
    assert isinstance(query, exp.Query)
    values = [build.column(name, alias) for name in query.named_selects]
    return keys.nested(keys.of_arm(1, [keys.of_values(values)]))


def _group_by(query: exp.Select, case: exp.Expr) -> None:
    """Add the case to every grouping set."""
    group = query.args["group"]
    group.append("expressions", copied(case))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _is_correlated(node: exp.Expr) -> bool:
    inside = {one.alias_or_name for one in node.find_all(exp.Table, exp.Subquery, exp.Lateral)}
    return any(one.table not in inside for one in node.find_all(exp.Column) if one.table)
