"""``Q(s)`` at many instants in one statement: every row carries the instant that it belongs to.

The definition is ``Q(s)``: the query over the rows visible at s, with the clock at s. One statement
for each s would read the tables once for each; so s becomes a column ``_s``:

    a block        FROM instants AS _i JOIN each table ON its arrival <= _i._s
    its clock      now() = _i._s
    an outer join  the ON condition, of rows visible at one s
    a derived table, a CTE, both sides of a set operation    carry _s; equal where they meet
    a subquery     ... AND visible at the _s of the row around it

Nothing else changes: conditions stay as the author wrote them, none is solved or split. ``_key``
(``tapestry.sql.keys``) identifies the answers of the outermost block.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ARRIVAL, KEY, ROW_ID
from tapestry.sql import build, keys, timing
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.verification.restriction import WHOLE, Restriction, driving, in_ranges
from tapestry.verification.rows import Rows, aliased, is_nested, joined, operand, or_nothing
from tapestry.verification.scopes import (
    Ctes,
    arms,
    by_value,
    is_correlated,
    is_global_aggregate,
    opened,
    relation_of,
)

AT = "_s"
INSTANTS, PROBES = "instants", "probes"


class Threader:
    """Writes one resolved query over instants; ``reads``: source -> name of its CTE."""

    def __init__(self, catalog: Catalog, reads: Mapping[str, str]) -> None:
        self.catalog, self.reads = catalog, reads
        self.numbers = count(1)
        self.appended = frozenset(
            name
            for name, source in catalog.relations.items()
            if isinstance(source, Source) and source.arrival is not None
        )

    # -- queries ------------------------------------------------------------------------------
    def answers(
        self, node: exp.Expr, ctes: Ctes, restriction: Restriction = WHOLE, derived: bool = False
    ) -> exp.Query:
        """The rows of a query with ``_s`` and ``_key``, arm by arm."""
        written: list[exp.Query] = []
        for number, (arm, seen) in enumerate(arms(node, ctes), start=1):
            if not by_value(arm):
                written.append(self.block(arm, seen, None, restriction, number))
                continue
            rows = self.name("q")
            query = build.add_from(
                build.select_all(rows), aliased(self.rows(arm, seen, restriction), rows)
            )
            values = [exp.column(n, table=rows) for n in arm.named_selects] if derived else []
            key = keys.of_arm(number, [keys.of_values(values)] if derived else [])
            query.append("expressions", exp.alias_(key, KEY))
            written.append(query)
        return build.union_all(written)

    def rows(self, node: exp.Expr, ctes: Ctes, restriction: Restriction = WHOLE) -> exp.Query:
        """The rows of a query with ``_s``."""
        node, ctes = opened(node, ctes)
        if not isinstance(node, exp.SetOperation):
            return self.block(node, ctes, None, restriction)
        # Values may be looked for on the left only: what is missing on the right of an EXCEPT
        # would make answers.
        unions = isinstance(node, exp.Union)
        sides = (restriction, restriction if unions else restriction.unranged)
        left, right = (
            self.side(self.rows(part, ctes, narrowed))
            for part, narrowed in zip((node.this, node.expression), sides, strict=True)
        )
        return type(node)(this=left, expression=right, distinct=bool(node.args.get("distinct")))

    def side(self, query: exp.Query) -> exp.Query:
        """A side of a set operation: one SELECT, so that precedence does not matter."""
        if isinstance(query, exp.Select):
            return query
        return build.add_from(build.select_all(), aliased(query, self.name("q")))

    def subquery(self, node: exp.Expr, ctes: Ctes, instant: exp.Expr, exists: bool) -> exp.Query:
        """A subquery of a condition, at the instant of the row that the condition is about."""
        node, ctes = opened(node, ctes)
        if isinstance(node, exp.SetOperation):
            if is_correlated(node):
                left, right = (
                    self.side(self.subquery(part, ctes, instant, False))
                    for part in (node.this, node.expression)
                )
                distinct = bool(node.args.get("distinct"))
                return type(node)(this=left, expression=right, distinct=distinct)
            name = self.name("q")
            listed = [exp.column(column, table=name) for column in node.named_selects]
            query = build.add_from(build.select(listed), aliased(self.rows(node, ctes), name))
            same = exp.EQ(this=exp.column(AT, table=name), expression=instant.copy())
            return build.add_where(query, [same])
        plain = node.copy()
        if exists:
            plain.set("limit", None)  # of at least one row: the parser of models knows no other
            if not plain.args.get("group"):
                plain.set("distinct", None)
                plain.set("expressions", [exp.alias_(exp.Literal.number(1), "found")])
        return self.block(plain, ctes, instant)

    # -- one SELECT ---------------------------------------------------------------------------
    def block(
        self,
        node: exp.Expr,
        ctes: Ctes,
        outer: exp.Expr | None,
        restriction: Restriction = WHOLE,
        arm: int = 0,
    ) -> exp.Select:
        """One SELECT; ``outer`` is the instant around a subquery, ``arm`` > 0 asks for ``_key``."""
        if not isinstance(node, exp.Select):
            raise Refusal("this is not a SELECT", node.sql("spark"))
        if node.args.get("limit") is not None:
            raise Refusal("LIMIT cannot be checked yet", node.sql("spark"))
        rows = self.from_clause(node, ctes, outer, restriction, arm > 0)
        select, instant = rows.select, rows.instant
        selects = [self.condition(item, ctes, instant) for item in node.selects]
        if restriction.matching and outer is None:
            rows.conditions += self.matched(rows, selects)
        if restriction.ranges:
            rows.conditions += self.ranged(node, ctes, restriction)
        if node.args.get("where") is not None:
            rows.conditions.append(operand(self.condition(node.args["where"].this, ctes, instant)))
        if outer is None:
            selects.append(exp.alias_(instant.copy(), AT))
        if arm:
            selects.append(exp.alias_(keys.of_arm(arm, rows.keys), KEY))
        select.set("expressions", selects)
        build.add_where(select, rows.conditions)
        if node.args.get("distinct"):
            select.set("distinct", exp.Distinct())
        group = node.args.get("group")
        if group is not None:
            again = group.copy()
            if outer is None or instant != outer:
                again.append("expressions", instant.copy())
            select.set("group", again)
        if node.args.get("having") is not None:
            having = self.condition(node.args["having"].this, ctes, instant)
            select.set("having", exp.Having(this=having))
        return select

    def condition(self, node: exp.Expr, ctes: Ctes, instant: exp.Expr) -> exp.Expr:
        """A condition (or a value) at an instant: the clock and the subqueries in it replaced."""

        def replace(part: exp.Expr) -> exp.Expr:
            if timing.is_now(part):
                dates = isinstance(part, exp.CurrentDate) or part.name.lower() == "curdate"
                return exp.cast(instant.copy(), "date") if dates else instant.copy()
            if isinstance(part, exp.Exists):
                inner, _ = opened(part.this, ctes)
                if is_global_aggregate(inner):
                    return exp.true()
                return exp.Exists(this=self.subquery(part.this, ctes, instant, exists=True))
            if isinstance(part, exp.In) and part.args.get("query") is not None:
                value = self.condition(part.this, ctes, instant)
                query = self.subquery(part.args["query"], ctes, instant, exists=False)
                return exp.In(this=value, query=exp.Subquery(this=query))
            if isinstance(part, exp.Subquery | exp.Query):
                raise Refusal("a scalar subquery cannot be checked yet", part.sql("spark"))
            return part

        return node.copy().transform(replace, copy=False)

    def matched(self, rows: Rows, selects: list[exp.Expr]) -> list[exp.Expr]:
        """The row has the values of a probe at the probe's instant."""
        assert isinstance(rows.instant, exp.Column)
        probe = rows.instant.table
        return [
            exp.NullSafeEQ(
                this=timing.wrapped(item.this if isinstance(item, exp.Alias) else item),
                expression=exp.column(f"_v{number}", table=probe),
            )
            for number, item in enumerate(selects, start=1)
        ]

    def ranged(self, node: exp.Select, ctes: Ctes, restriction: Restriction) -> list[exp.Expr]:
        """The driving table's row lies in the ranges; nothing where no table drives."""
        table = driving(node, ctes, self.appended)
        if table is None:
            return []
        column = self.arrival_column(relation_of(table, ctes))
        return [in_ranges(table.alias_or_name, column, restriction.ranges)]

    def arrival_column(self, source: str) -> Column:
        """The column that a source's arrival is written in."""
        relation = self.catalog.relations[source]
        assert isinstance(relation, Source)
        assert relation.arrival is not None
        wanted = relation.arrival.lower()
        return next(column for column in relation.columns if column.name.lower() == wanted)

    # -- the FROM clause ----------------------------------------------------------------------
    def from_clause(
        self,
        node: exp.Select,
        ctes: Ctes,
        outer: exp.Expr | None,
        restriction: Restriction,
        keyed: bool,
    ) -> Rows:
        """The FROM clause over instants, by the cheapest of three ways."""
        from_ = node.args.get("from_")
        relations = [] if from_ is None else [from_.this, *(node.args.get("joins") or [])]
        joins = relations[1:]
        if outer is not None and relations and self.is_plain(node, relations, ctes):
            rows = Rows(exp.Select(), outer)
            self.add_first(rows, relations[0], ctes, keyed)
            for join in joins:
                self.add_join(rows, join, ctes, keyed)
            return rows
        if any(is_nested(r) or getattr(r, "side", "") in ("RIGHT", "FULL") for r in relations):
            rows = self.multiplied(relations, ctes, restriction, keyed)
        else:
            alias = self.name("i")
            rows = Rows(exp.Select(), exp.column(AT, table=alias))
            read = PROBES if restriction.matching else INSTANTS
            build.add_from(rows.select, build.table(read, alias))
            for position, relation in enumerate(relations):
                add = self.add_join if position else self.add_first
                add(rows, relation, ctes, keyed)
        if outer is not None:
            rows.conditions.append(exp.EQ(this=rows.instant.copy(), expression=outer.copy()))
        return rows

    def is_plain(self, node: exp.Select, relations: list[exp.Expr], ctes: Ctes) -> bool:
        """A subquery that reads tables and joins them: visible at the instant around it."""
        if node.args.get("group") is not None or node.args.get("distinct"):
            return False
        conditions = [r.args.get("on") for r in relations] + [node.args.get("where")]
        if any(c is not None and c.find(exp.Query) is not None for c in conditions):
            return False
        tables = [r.this if isinstance(r, exp.Join) else r for r in relations]
        return all(
            isinstance(table, exp.Table) and relation_of(table, ctes) and not is_nested(table)
            for table in tables
        ) and all(not getattr(r, "side", "") for r in relations)

    def add_first(self, rows: Rows, node: exp.Expr, ctes: Ctes, keyed: bool) -> None:
        """The first relation, beside the instants."""
        relation, visible, key = self.relation(node, ctes, rows.instant, keyed)
        build.add_from(rows.select, relation)
        rows.conditions += visible
        rows.keys.append(key)

    def add_join(self, rows: Rows, join: exp.Expr, ctes: Ctes, keyed: bool) -> None:
        """One more relation; of a LEFT JOIN only its visible rows can match."""
        relation, visible, key = self.relation(join.this, ctes, rows.instant, keyed)
        rows.keys.append(key)
        on = [] if join.args.get("on") is None else [join.args["on"]]
        conditions = [operand(self.condition(c, ctes, rows.instant)) for c in on] + visible
        if not isinstance(join, exp.Join) or (join.side == "" and not on):
            rows.select.append("joins", exp.Join(this=relation, kind="CROSS"))
            rows.conditions += visible
            return
        rows.select.append("joins", joined(relation, join.side, conditions))

    def relation(
        self, node: exp.Expr, ctes: Ctes, instant: exp.Expr, keyed: bool
    ) -> tuple[exp.Expr, list[exp.Expr], exp.Expr]:
        """A table or derived table; when its rows are there at ``instant``; its key's part."""
        alias = node.alias_or_name
        if isinstance(node, exp.Table) and (source := relation_of(node, ctes)):
            visible = []
            if source in self.appended:
                arrival = exp.column(ARRIVAL, table=alias)
                visible = [exp.LTE(this=arrival, expression=instant.copy())]
            key = keys.of_row(exp.column(ROW_ID, table=alias))
            return build.table(self.reads[source], alias), visible, or_nothing(key)
        derived = self.derived(node, ctes, keyed)
        same = exp.EQ(this=exp.column(AT, table=alias), expression=instant.copy())
        part = keys.nested(exp.column(KEY, table=alias))
        return derived, [same], or_nothing(part)

    def derived(self, node: exp.Expr, ctes: Ctes, keyed: bool) -> exp.Subquery:
        """A derived table or a CTE under its alias, with ``_s`` and, where asked for, ``_key``."""
        if isinstance(node, exp.Table):
            body, seen = ctes[relation_name(node)]
        else:
            body, seen = node, ctes
        if keyed:
            query = self.answers(body, seen, derived=True)
        else:
            query = build.union_all([self.rows(*arm) for arm in arms(body, seen)])
        alias = node.args["alias"].copy()
        if alias.columns:
            hidden = [AT, KEY] if keyed else [AT]
            alias.set("columns", [*alias.columns, *map(exp.to_identifier, hidden)])
        return exp.Subquery(this=query, alias=alias)

    def multiplied(
        self, relations: list[exp.Expr], ctes: Ctes, restriction: Restriction, keyed: bool
    ) -> Rows:
        """RIGHT and FULL joins: every relation is there once for each instant, joins are on it."""
        rows = Rows(exp.Select(), exp.null())
        first, *joins = relations
        build.add_from(rows.select, self.carried(rows, first, ctes, keyed))
        for join in joins:
            self.chain(rows, rows.select, join, ctes, keyed)
        if restriction.matching:
            alias = self.name("i")
            mine = exp.column(AT, table=alias)
            same = exp.EQ(this=mine.copy(), expression=rows.instant.copy())
            rows.select.append("joins", joined(build.table(PROBES, alias), "", [same]))
            rows.instant = mine
        return rows

    def carried(self, rows: Rows, node: exp.Expr, ctes: Ctes, keyed: bool) -> exp.Expr:
        """A relation with ``_s``; ``rows.instant`` becomes its instant."""
        if is_nested(node):
            inner = node.this.copy() if isinstance(node, exp.Subquery) else node.copy()
            joins = inner.args.pop("joins", None) or []
            carrier = self.carried(rows, inner, ctes, keyed)
            for join in joins:
                self.chain(rows, carrier, join, ctes, keyed)
            return exp.Subquery(this=carrier)
        alias = node.alias_or_name
        instant = self.name("i")
        relation, visible, key = self.relation(node, ctes, exp.column(AT, table=instant), keyed)
        rows.keys.append(key)
        rows.instant = exp.column(AT, table=alias)
        if isinstance(relation, exp.Subquery):
            return relation
        listed = [exp.column(AT, table=instant), exp.Column(this=exp.Star(), table=relation.alias)]
        query = build.add_from(build.select(listed), build.table(INSTANTS, instant))
        query = build.add_where(build.add_from(query, relation), visible)
        return aliased(query, alias)

    def chain(self, rows: Rows, carrier: exp.Expr, join: exp.Expr, ctes: Ctes, keyed: bool) -> None:
        """Join one more relation on the instant."""
        before = rows.instant
        relation = self.carried(rows, join.this, ctes, keyed)
        mine = rows.instant
        conditions: list[exp.Expr] = [exp.EQ(this=mine.copy(), expression=before.copy())]
        if join.args.get("on") is not None:
            conditions.append(operand(self.condition(join.args["on"], ctes, mine)))
        carrier.append("joins", joined(relation, join.side, conditions))
        if join.side == "FULL":
            rows.instant = exp.Coalesce(this=before.copy(), expressions=[mine.copy()])
        elif join.side != "RIGHT":
            rows.instant = before

    def name(self, kind: str) -> str:
        """A new alias of our own."""
        return f"_{kind}{next(self.numbers)}"


def relation_name(table: exp.Table) -> str:
    """A CTE's name as ``Ctes`` knows it."""
    return table.name.lower()
