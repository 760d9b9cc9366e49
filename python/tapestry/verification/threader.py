"""Writes ``Q(s)`` at many instants in one statement, with the instant as a column of each row.

The definition is ``Q(s)``: the query over the rows visible at s, with the clock at s. One statement
for each s would read the tables once for each; so s becomes a column ``_s``:

    a block        over the instants (``from_clause``), its clock being now() = _s
    a derived table, a CTE, both sides of a set operation    carry _s; equal where they meet
    a subquery     at the _s of the row around it
    aggregates, windows, LIMIT    of the rows of each _s (``gathered``)

Nothing else changes: conditions stay as the author wrote them, none is solved or split. ``_key``
(``tapestry.sql.facts.keys``) identifies the answers of the outermost block.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import KEY
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import Ctes, opened_in
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.write import build
from tapestry.verification.from_clause import AT, FromClause
from tapestry.verification.gathered import (
    first_rows,
    from_instants,
    has_sets,
    narrowed,
    one_by_one,
    over_rows,
    partitioned,
    rows_of,
    without_limit,
)
from tapestry.verification.restriction import (
    WHOLE,
    Driver,
    Restriction,
    arrival_column,
    driver,
    has_id,
    in_ranges,
)
from tapestry.verification.rows import (
    Around,
    Rows,
    aliased,
    only_keys_of,
    operand,
    or_nothing,
    select_from,
)
from tapestry.verification.scopes import (
    arms,
    by_value,
    from_items,
    gathers,
    is_correlated,
    is_plain,
    is_total,
    skips_all,
)


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
        self.ending = frozenset(
            name
            for name, source in catalog.relations.items()
            if isinstance(source, Source) and source.ends
        )

    def name(self, kind: str) -> str:
        """Return a new generated alias."""
        return f"_{kind}{next(self.numbers)}"

    # -- queries ------------------------------------------------------------------------------
    def answers(
        self,
        node: exp.Expr,
        ctes: Ctes,
        restriction: Restriction = WHOLE,
        derived: bool = False,
        only: int = 0,
    ) -> exp.Query:
        """The rows of a query with ``_s`` and ``_key``, arm by arm; ``only`` one arm, from 1."""
        written: list[exp.Query] = []
        for number, (arm, seen) in enumerate(arms(node, ctes), start=1):
            if only not in (0, number):
                continue
            if not by_value(arm, seen):
                written.append(self.block(arm, seen, None, restriction, number))
                continue
            name = self.name("q")
            rows = aliased(self.rows(arm, seen, restriction), name)
            query = build.add_from(build.select_all(name), rows)
            assert isinstance(arm, exp.Query)
            values = [exp.column(n, table=name) for n in arm.named_selects] if derived else []
            key = keys.of_arm(number, [keys.of_values(values)] if derived else [])
            query.append("expressions", exp.alias_(key, KEY))
            written.append(query)
        return build.union_all(written)

    def rows(self, node: exp.Expr, ctes: Ctes, restriction: Restriction = WHOLE) -> exp.Query:
        """The rows of a query with ``_s``."""
        node, ctes = opened_in(node, ctes)
        if gathers(node):
            assert isinstance(node, exp.Query)
            found = self.gathered(node, ctes)
            return narrowed(found, node.named_selects, restriction, self.name("q"))
        if not isinstance(node, exp.SetOperation):
            return self.block(node, ctes, None, restriction)
        # A range restricts the left side only: rows that are missing on the right side of an EXCEPT
        # would give wrong answers.
        unions = isinstance(node, exp.Union)
        sides = (restriction, restriction if unions else restriction.unranged)
        left, right = (
            self.side(self.rows(part, ctes, narrowed))
            for part, narrowed in zip((node.this, node.expression), sides, strict=True)
        )
        return type(node)(this=left, expression=right, distinct=bool(node.args.get("distinct")))

    def gathered(self, node: exp.Expr, ctes: Ctes) -> exp.Query:
        """Return the rows with ``_s`` of a block with aggregates, windows or LIMIT."""
        if is_limited(node):
            bare, ordered = without_limit(node)
            return first_rows(self.rows(bare, ctes), node, ordered, self.name("q"))
        if not is_total(node):
            return self.block(node, ctes, None)
        assert isinstance(node, exp.Select)
        rows, names = rows_of(node)
        alias, instants = self.name("q"), self.name("i")
        query = from_instants(self.rows(rows, ctes), alias, instants)
        instant = exp.column(AT, table=instants)
        around = Around(instant)
        selects = [over_rows(item, names, alias) for item in node.selects]
        selects = [self.item(item, ctes, around) for item in selects]
        query.set("expressions", [*selects, exp.alias_(instant.copy(), AT)])
        query.set("group", exp.Group(expressions=[instant.copy()]))
        if node.args.get("having") is not None:
            having = over_rows(node.args["having"].this, names, alias)
            query.set("having", exp.Having(this=self.condition(having, ctes, around)))
        if node.args.get("distinct"):
            query.set("distinct", exp.Distinct())
        return query

    def item(self, item: exp.Expr, ctes: Ctes, around: Around) -> exp.Expr:
        """An item of a select list at an instant."""
        return one_by_one(partitioned(self.condition(item, ctes, around), around.instant))

    def side(self, query: exp.Query) -> exp.Query:
        """A side of a set operation: one SELECT, so that precedence does not matter."""
        if isinstance(query, exp.Select):
            return query
        return build.add_from(build.select_all(), aliased(query, self.name("q")))

    def subquery(self, node: exp.Expr, ctes: Ctes, around: Around, exists: bool) -> exp.Query:
        """A subquery of a condition, at the instant of the row that the condition is about."""
        node, ctes = opened_in(node, ctes)
        if isinstance(node, exp.SetOperation):
            return self.set_operation(node, ctes, around)
        assert isinstance(node, exp.Select)
        plain = node.copy()
        if exists and not skips_all(plain):
            plain.set("limit", None)
            if not plain.args.get("group") and not plain.args.get("having"):
                plain.set("distinct", None)
                plain.set("expressions", [exp.alias_(exp.Literal.number(1), "found")])
        if is_limited(plain) and not is_correlated(plain):
            return self.at_instant(plain, ctes, around)
        return self.block(plain, ctes, around)

    def set_operation(self, node: exp.SetOperation, ctes: Ctes, around: Around) -> exp.Query:
        """A set operation in a condition: correlated by its author, or by us from outside."""
        if is_correlated(node) and is_limited(node):
            raise Refusal(
                "LIMIT of a set operation that sees the query around it cannot be checked yet",
                node.sql("spark"),
                "put the set operation into a derived table",
                code="not-checkable",
            )
        if is_correlated(node):
            left, right = (
                self.side(self.subquery(part, ctes, around, False))
                for part in (node.this, node.expression)
            )
            distinct = bool(node.args.get("distinct"))
            return type(node)(this=left, expression=right, distinct=distinct)
        return self.at_instant(node, ctes, around)

    def at_instant(self, node: exp.Query, ctes: Ctes, around: Around) -> exp.Select:
        """Return the rows of an uncorrelated query, at the instant of the row around it."""
        name = self.name("q")
        listed = [exp.column(identifier(n), table=name) for n in node.named_selects]
        query = build.add_from(build.select(listed), aliased(self.rows(node, ctes), name))
        same = exp.EQ(this=exp.column(AT, table=name), expression=around.instant.copy())
        return build.add_where(query, [same])

    # -- one SELECT ---------------------------------------------------------------------------
    def block(
        self,
        node: exp.Expr,
        ctes: Ctes,
        outer: Around | None,
        restriction: Restriction = WHOLE,
        arm: int = 0,
    ) -> exp.Select:
        """One SELECT; ``outer`` is what is around a subquery, ``arm`` > 0 asks for ``_key``."""
        assert isinstance(node, exp.Select)
        driving = driver(node, ctes, self.appended) if restriction.ranges else None
        rows = self.from_clause(node, ctes, outer, restriction, driving, arm > 0)
        for lateral in node.args.get("laterals") or []:
            self.generated(rows, lateral, ctes)
        around = self.around(rows, restriction, driving)
        if outer is not None and is_total(node):  # one group, and of it no row's instant is known
            around = Around(outer.instant)
        selects = [self.item(item, ctes, around) for item in node.selects]
        rows.conditions += self.restricted(rows, selects, restriction, driving)
        if node.args.get("where") is not None:
            where = node.args["where"].this
            rows.conditions.append(operand(self.condition(where, ctes, around)))
            if outer is not None:
                inner = {r.alias_or_name for r in node.find_all(exp.Table, exp.Subquery)}
                rows.conditions += only_keys_of(where, inner, outer)
        if outer is None:
            selects.append(exp.alias_(rows.instant.copy(), AT))
        if arm:
            selects.append(exp.alias_(keys.of_arm(arm, rows.keys), KEY))
        rows.select.set("expressions", selects)
        build.add_where(rows.select, rows.conditions)
        self.grouped(rows, node, ctes, around, outer)
        return rows.select

    def from_clause(
        self,
        node: exp.Select,
        ctes: Ctes,
        outer: Around | None,
        restriction: Restriction,
        driving: Driver | None,
        keyed: bool,
    ) -> Rows:
        """The block's FROM clause."""
        relations = from_items(node)
        narrowed = {}
        if driving is not None and driving.depth:
            narrowed = {driving.alias: restriction.only_ranges}
        instead = {}
        if driving is not None and not driving.depth and restriction.turn_rows:
            instead = {driving.alias: restriction.turn_rows}
        clause = FromClause(
            self, ctes, tuple(relations), keyed, restriction.matching, narrowed, instead
        )
        instant = None if outer is None else outer.instant
        return clause.rows(instant, is_plain(node, relations, ctes))

    def generated(self, rows: Rows, node: exp.Lateral, ctes: Ctes) -> None:
        """A generator behind the FROM clause; the place of its row is a part of the key."""
        lateral, alias = node.copy(), node.args["alias"].copy()
        argument = self.condition(node.this.this, ctes, Around(rows.instant))
        lateral.set("this", exp.Posexplode(this=argument))
        place = alias.columns[0].copy()
        if not isinstance(node.this, exp.Posexplode):
            place = exp.to_identifier(self.name("p"))
            alias.set("columns", [place.copy(), *alias.columns])
            lateral.set("alias", alias)
        rows.select.append("laterals", lateral)
        rows.keys.append(or_nothing(keys.of_row(exp.column(place, table=alias.this.copy()))))

    def around(self, rows: Rows, restriction: Restriction, driving: Driver | None) -> Around:
        """Return the context of the block's conditions."""
        if driving is None or driving.depth:
            return Around(rows.instant)
        name = restriction.turn_rows or self.reads[driving.source]
        table = build.table(name, driving.alias)
        keys_of = select_from(table, self.ranged(restriction, driving))
        return Around(rows.instant, driving.alias, keys_of, restriction.few)

    def restricted(
        self,
        rows: Rows,
        selects: list[exp.Expr],
        restriction: Restriction,
        driving: Driver | None,
    ) -> list[exp.Expr]:
        """Return the conditions that restrict the block to the part that is checked."""
        values = [item.this if isinstance(item, exp.Alias) else item for item in selects]
        conditions: list[exp.Expr] = []
        if restriction.matching:
            assert isinstance(rows.instant, exp.Column)
            for number, value in enumerate(values, start=1):
                probe = exp.column(f"_v{number}", table=rows.instant.table)
                conditions.append(exp.NullSafeEQ(this=timing.wrapped(value), expression=probe))
        if restriction.ids:
            conditions.append(has_id(values, restriction.ids))
        if driving is not None and not driving.depth:
            conditions += self.ranged(restriction, driving)
        return conditions

    def ranged(self, restriction: Restriction, driving: Driver) -> list[exp.Expr]:
        """Return the condition that the driving row is in the ranges; [] if no other is read."""
        if restriction.turn_rows:
            return []
        column = arrival_column(self.catalog, driving.source)
        return [in_ranges(driving.alias, column, restriction.ranges)]

    def grouped(
        self, rows: Rows, node: exp.Select, ctes: Ctes, around: Around, outer: Around | None
    ) -> None:
        """DISTINCT, GROUP BY and HAVING: at each instant for itself; LIMIT at the only one."""
        if node.args.get("distinct"):
            rows.select.set("distinct", exp.Distinct())
        if node.args.get("group") is not None:
            group = self.condition(node.args["group"], ctes, around)
            if outer is None or rows.instant != outer.instant or has_sets(node):
                group.append("expressions", rows.instant.copy())
            rows.select.set("group", group)
        if node.args.get("having") is not None:
            having = self.item(node.args["having"].this, ctes, around)
            rows.select.set("having", exp.Having(this=having))
        if outer is not None and is_limited(node):
            for clause in ("order", "limit", "offset"):
                if node.args.get(clause) is not None:
                    rows.select.set(clause, self.item(node.args[clause], ctes, around))

    def condition(self, node: exp.Expr, ctes: Ctes, around: Around) -> exp.Expr:
        """A condition (or a value) at an instant: the clock and the subqueries in it replaced."""

        def replace(part: exp.Expr) -> exp.Expr:
            if timing.is_now(part):
                dates = isinstance(part, exp.CurrentDate) or part.name.lower() == "curdate"
                return exp.cast(around.instant, "date") if dates else around.instant.copy()
            if isinstance(part, exp.Exists):
                inner = opened_in(part.this, ctes)[0]
                if is_total(inner) and not inner.args.get("having") and not skips_all(inner):
                    return exp.true()
                return exp.Exists(this=self.subquery(part.this, ctes, around, exists=True))
            if isinstance(part, exp.In) and part.args.get("query") is not None:
                value = self.condition(part.this, ctes, around)
                query = self.subquery(part.args["query"], ctes, around, exists=False)
                return exp.In(this=value, query=exp.Subquery(this=query))
            if isinstance(part, exp.Query):
                query = self.subquery(part, ctes, around, exists=False)
                return exp.Subquery(this=query)
            return part

        return node.copy().transform(replace, copy=False)
