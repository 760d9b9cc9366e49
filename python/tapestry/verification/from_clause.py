"""Writes the FROM clause of a block over instants.

    FROM instants AS _i JOIN each table ON its arrival <= _i._s [AND _i._s < its end]

An outer join's ON condition sees visible rows only. RIGHT and FULL joins and joins in parentheses
cannot see the instants in front, so there every relation is multiplied by the instants by itself,
and all joins are equal on ``_s`` as well. A subquery that merely joins tables needs no instants of
its own: its tables are visible at the instant of the row around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED, KEY, ROW_ID
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import Ctes, encloses_relation
from tapestry.sql.write import build
from tapestry.verification.restriction import WHOLE, Restriction
from tapestry.verification.rows import (
    Around,
    Rows,
    aliased,
    is_nested,
    joined,
    operand,
    or_nothing,
)
from tapestry.verification.scopes import arms, relation_of

AT = "_s"
INSTANTS, PROBES = "instants", "probes"


@dataclass(frozen=True)
class FromClause:
    """One FROM clause.

    keyed
        Are the parts of the key asked for? ``narrowed``: alias -> restriction of a derived table.
    instead
        Alias -> the relation that is read instead of its source (``Restriction.turn_rows``).
    """

    writer: _RowWriter
    ctes: Ctes
    relations: tuple[exp.Expr, ...]
    keyed: bool
    matching: bool
    narrowed: Mapping[str, Restriction]
    instead: Mapping[str, str] = field(default_factory=dict)

    def rows(self, outer: exp.Expr | None, plain: bool) -> Rows:
        """The clause; ``outer`` is the instant around a subquery, ``plain`` a simple one."""
        if outer is not None and plain:
            return self.in_order(Rows(exp.Select(), outer))
        if any(is_nested(r) or getattr(r, "side", "") in ("RIGHT", "FULL") for r in self.relations):
            rows = self.multiplied()
        else:
            alias = self.writer.name("i")
            rows = Rows(exp.Select(), exp.column(AT, table=alias))
            build.add_from(rows.select, build.table(PROBES if self.matching else INSTANTS, alias))
            rows = self.in_order(rows)
        if outer is not None:
            rows.conditions.append(exp.EQ(this=rows.instant.copy(), expression=outer.copy()))
        return rows

    def in_order(self, rows: Rows) -> Rows:
        """Add one relation after the other, visible at the instant of the rows."""
        for node in self.relations:
            side = node.side if isinstance(node, exp.Join) else ""
            on = node.args.get("on") if isinstance(node, exp.Join) else None
            inner = node.this if isinstance(node, exp.Join) else node
            relation, visible, key = self.relation(inner, rows.instant)
            rows.keys.append(key)
            if side or on is not None:
                conditions = [] if on is None else [self.condition(on, rows.instant)]
                rows.select.append("joins", joined(relation, side, conditions + visible))
            else:
                build.add_from(rows.select, relation)
                rows.conditions += visible
        return rows

    def relation(
        self, node: exp.Expr, instant: exp.Expr
    ) -> tuple[exp.Expr, list[exp.Expr], exp.Expr]:
        """Return a table or derived table, conditions of visibility, and its part of the key."""
        alias = node.alias_or_name
        if isinstance(node, exp.Table) and (source := relation_of(node, self.ctes)):
            visible: list[exp.Expr] = []
            if source in self.writer.appended:
                arrival = exp.column(ARRIVAL, table=alias)
                visible = [exp.LTE(this=arrival, expression=instant.copy())]
            if source in self.writer.ending:
                end = exp.column(ENDED, table=alias)
                visible.append(exp.LT(this=instant.copy(), expression=end))
            key = keys.of_row(exp.column(ROW_ID, table=alias))
            name = self.instead.get(alias, self.writer.reads[source])
            return build.table(name, alias), visible, or_nothing(key)
        same = exp.EQ(this=exp.column(AT, table=alias), expression=instant.copy())
        part = keys.nested(exp.column(KEY, table=alias))
        return self.derived(node), [same], or_nothing(part)

    def derived(self, node: exp.Expr) -> exp.Subquery:
        """A derived table or a CTE under its alias, with ``_s`` and, where asked for, ``_key``."""
        body, seen = node, self.ctes
        if isinstance(node, exp.Table):
            body, seen = self.ctes[node.name.lower()]
        restriction = self.narrowed.get(node.alias_or_name, WHOLE)
        if self.keyed:
            query = self.writer.answers(body, seen, restriction, derived=True)
        else:
            parts = (self.writer.rows(arm, its, restriction) for arm, its in arms(body, seen))
            query = build.union_all(list(parts))
        alias = node.args["alias"].copy()
        if alias.columns:
            hidden = [AT, KEY] if self.keyed else [AT]
            alias.set("columns", [*alias.columns, *map(exp.to_identifier, hidden)])
        return exp.Subquery(this=query, alias=alias)

    # -- RIGHT, FULL, parentheses -------------------------------------------------------------
    def multiplied(self) -> Rows:
        """Return every relation once for each instant, with joins equal on it."""
        rows = Rows(exp.Select(), exp.null())
        first, *joins = self.relations
        build.add_from(rows.select, self.carried(rows, first))
        for join in joins:
            self.chain(rows, rows.select, join)
        if self.matching:
            alias = self.writer.name("i")
            mine = exp.column(AT, table=alias)
            same = exp.EQ(this=mine.copy(), expression=rows.instant.copy())
            rows.select.append("joins", joined(build.table(PROBES, alias), "", [same]))
            rows.instant = mine
        return rows

    def carried(self, rows: Rows, node: exp.Expr) -> exp.Expr:
        """A relation with ``_s``; ``rows.instant`` becomes its instant."""
        if is_nested(node):
            inner = node.this.copy() if encloses_relation(node) else node.copy()
            joins = inner.args.pop("joins", None) or []
            carrier = self.carried(rows, inner)
            for join in joins:
                self.chain(rows, carrier, join)
            return exp.Subquery(this=carrier)
        alias, instant = node.alias_or_name, self.writer.name("i")
        relation, visible, key = self.relation(node, exp.column(AT, table=instant))
        rows.keys.append(key)
        rows.instant = exp.column(AT, table=alias)
        if isinstance(relation, exp.Subquery):
            return relation
        listed = [exp.column(AT, table=instant), exp.Column(this=exp.Star(), table=relation.alias)]
        query = build.add_from(build.select(listed), build.table(INSTANTS, instant))
        return aliased(build.add_where(build.add_from(query, relation), visible), alias)

    def chain(self, rows: Rows, carrier: exp.Expr, join: exp.Expr) -> None:
        """Join one more relation on the instant."""
        before = rows.instant
        relation = self.carried(rows, join.this)
        mine = rows.instant
        conditions: list[exp.Expr] = [exp.EQ(this=mine.copy(), expression=before.copy())]
        if join.args.get("on") is not None:
            on = join.args["on"]
            conditions.append(self.condition(on, mine if _sees(on, join.this) else before))
        side = join.text("side")
        carrier.append("joins", joined(relation, side, conditions))
        if side == "FULL":
            rows.instant = exp.Coalesce(this=before.copy(), expressions=[mine.copy()])
        elif side != "RIGHT":
            rows.instant = before

    def condition(self, node: exp.Expr, instant: exp.Expr) -> exp.Expr:
        """An ON condition."""
        return operand(self.writer.condition(node, self.ctes, Around(instant)))


def _sees(on: exp.Expr, joined_one: exp.Expr) -> bool:
    """Return whether a subquery of ON uses columns of the joined relation, or has no columns
    around.

    Both sides are of one instant, so either's will do. Spark takes no subquery that sees both.
    """
    names = {one.alias_or_name for one in joined_one.find_all(exp.Table, exp.Subquery)}
    inside = [one for one in on.find_all(exp.Select, exp.SetOperation) if one is not on]
    columns = (column for query in inside for column in query.find_all(exp.Column))
    return not inside or any(column.table in names for column in columns)


class _RowWriter(Protocol):
    """Writes queries and conditions over instants, and knows the sources that they read.

    reads
        Source -> name of its CTE.
    appended, ending
        The sources whose rows arrive; those whose rows can have an end.
    """

    reads: Mapping[str, str]
    appended: frozenset[str]
    ending: frozenset[str]

    def name(self, kind: str) -> str:
        """Return a new generated alias."""
        ...

    def answers(
        self,
        node: exp.Expr,
        ctes: Ctes,
        restriction: Restriction = WHOLE,
        derived: bool = False,
    ) -> exp.Query:
        """The rows of a query with ``_s`` and ``_key``, arm by arm."""
        ...

    def rows(self, node: exp.Expr, ctes: Ctes, restriction: Restriction = WHOLE) -> exp.Query:
        """The rows of a query with ``_s``."""
        ...

    def condition(self, node: exp.Expr, ctes: Ctes, around: Around) -> exp.Expr:
        """A condition (or a value) at an instant: the clock and the subqueries in it replaced."""
        ...
