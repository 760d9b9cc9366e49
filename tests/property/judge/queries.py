"""A random query: of moderate size, in the constructs of strategies 1 to 4."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from judge import values
from judge.conditions import Conditions
from judge.render import spark_text
from judge.schema import ARRIVAL, TABLES
from judge.scope import Scope, Visible
from judge.tree import (
    Item,
    Join,
    Query,
    Relation,
    Select,
    SetOp,
    Text,
    With,
    replace,
    tables_of,
    walk,
)

TYPES = ("int", "int", "int", "time", "text", "date")
ALIASES = ("a", "b", "c", "e", "f", "g", "h", "p", "q")
LONGEST = 450  # characters: larger queries say little that smaller ones do not
COLUMN = re.compile(r"(\w+\.)?[a-z]\w*")
KEYS = ("k", "id")
AUDITED = 0.15  # of the queries have a column that reads the clock
CLOCKS = (
    Text("now()", "$now"),
    Text("current_timestamp() - INTERVAL 1 DAY", "$now - INTERVAL 1 DAY"),
    Text("date_trunc('DAY', now())", "date_trunc('day', $now)"),
)


@dataclass
class Generator:
    """Makes queries. One instance makes one query: it numbers relations, remembers CTEs."""

    rng: random.Random
    number: int = 0
    layered: bool = False  # blocks that count by value, over one another
    ctes: dict[str, dict[str, str]] = field(default_factory=dict)
    bodies: list[tuple[str, Query]] = field(default_factory=list)

    def query(self) -> Query:
        """A whole query."""
        if self.rng.random() < 0.12:
            for name in ("w1", "w2")[: self.rng.choice((1, 1, 2))]:
                types = self._types()
                self.bodies.append((name, self.block(types, depth=1)))
                self.ctes[name] = dict(zip(self.bodies[-1][1].names, types, strict=True))
        body = self.block(None if self.rng.random() < 0.25 else self._types(), depth=0)
        if self.rng.random() < AUDITED:
            body = self._audited(body, None)
        used = self._used(body)
        return With(used, body) if used else body

    def _audited(self, query: Query, given: Text | None) -> Query:
        """The query with one more column that reads the clock: the same on both sides."""
        if isinstance(query, SetOp):
            given = given or self.rng.choice(CLOCKS)
            left, right = (self._audited(side, given) for side in (query.left, query.right))
            return replace(query, left=left, right=right)
        assert isinstance(query, Select)
        text = given or self.rng.choice(CLOCKS)
        dates = [item.text for item in query.items if item.text.keys and item.name == "d"]
        if given is None and dates and not query.star:
            day = Text("current_date()", "CAST($now AS DATE)")
            text = Text.of("datediff({}, {})", day, dates[0], duck="({} - {})")
        star = f"{query.star}, {text.spark} AS seen_at" if query.star else ""
        return replace(query, items=(*query.items, Item(text, "seen_at", audit=True)), star=star)

    def _used(self, body: Query) -> tuple[tuple[str, Query], ...]:
        """The CTEs that a query reads, in order; an unread one would count as a source."""
        wanted = {node.cte for node in walk(body) if isinstance(node, Relation)}
        kept = []
        for name, query in reversed(self.bodies):
            if name in wanted:
                kept.append((name, query))
                wanted |= {node.cte for node in walk(query) if isinstance(node, Relation)}
        return tuple(reversed(kept))

    def _types(self) -> tuple[str, ...]:
        return tuple(self.rng.choice(TYPES) for _ in range(self.rng.choice((1, 2, 2, 3))))

    def block(self, types: tuple[str, ...] | None, depth: int, outer: Scope | None = None) -> Query:
        """A select or a set operation with columns of these types (None: any, perhaps a star)."""
        roll = self.rng.random()
        if types is not None and roll < (0.22 if depth == 0 else 0.12):
            op = self.rng.choice(
                ("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT")
            )
            right = (
                self.block(types, depth + 1, outer)
                if self.rng.random() < 0.2
                else self.select(types, depth + 1, outer)
            )
            left = self.select(types, depth + 1, outer)
            return SetOp(op, right, left) if isinstance(right, SetOp) else SetOp(op, left, right)
        return self.select(types, depth, outer)

    # --- one SELECT ---

    def select(
        self, types: tuple[str, ...] | None, depth: int, outer: Scope | None = None
    ) -> Select:
        """One SELECT; `outer` is the scope around it when it is a subquery."""
        scope = outer.inner() if outer is not None else Scope(self.rng)
        joins = self._from(scope, depth)
        conditions = Conditions(scope, self.subquery, depth)
        where = conditions.where(first=len(joins) == 1 or any(join.kind == "," for join in joins))
        if outer is not None:
            return Select((Item(values.literal("1"), "one"),), joins, where)
        star = self._star(scope, joins) if types is None else None
        if star is not None:
            items, text = star
            return Select(items, joins, where, star=text, distinct=self.rng.random() < 0.1)
        items = self._items(scope, types or self._types())
        roll = self.rng.random() * (0.3 if self.layered else 1)
        grouped = 0.1 < roll < 0.16 and all(item.text.keys for item in items)
        return Select(items, joins, where, distinct=roll < 0.1, grouped=grouped)

    def _items(self, scope: Scope, types: tuple[str, ...]) -> tuple[Item, ...]:
        items: list[Item] = []
        for number, type_ in enumerate(types, 1):
            text, name = values.value(scope, type_, outer=0), f"c{number}"
            bare = text.spark.split(".")[-1] if COLUMN.fullmatch(text.spark) else ""
            used = {item.name for item in items}
            name = f"o{number}" if name in used else name
            if bare and text.keys and bare not in used and self.rng.random() < 0.3:
                items.append(Item(text, bare, aliased=False))
            else:
                items.append(Item(text, name))
        return tuple(items)

    def _star(self, scope: Scope, joins: tuple[Join, ...]) -> tuple[tuple[Item, ...], str] | None:
        """`*` over one relation, `a.*` over one of several."""
        if any(join.using for join in joins):
            return None
        chosen = self.rng.choice(scope.relations)
        items = tuple(
            Item(Text(name, f"{chosen.key}.{name}", frozenset({chosen.key})), name)
            for name in chosen.columns
        )
        return items, "*" if len(joins) == 1 and self.rng.random() < 0.8 else f"{chosen.alias}.*"

    # --- FROM ---

    def _from(self, scope: Scope, depth: int) -> tuple[Join, ...]:
        subquery = bool(scope.outer)
        few = subquery or self.layered
        count = self.rng.choices((1, 2, 3, 4), (75, 22, 3, 0) if few else (46, 41, 11, 2))[0]
        comma = self.rng.random() < 0.3
        joins: list[Join] = []
        for position in range(count):
            relation, visible = self._relation(scope, depth, subquery)
            if not joins:
                scope.relations.append(visible)
                joins.append(Join("", relation))
            elif comma:
                scope.relations.append(visible)
                joins.append(Join(",", relation))
            else:
                joins.append(
                    self._join(scope, relation, visible, depth, last=position == count - 1)
                )
        scope.hide()
        return tuple(joins)

    def _join(
        self, scope: Scope, relation: Relation, visible: Visible, depth: int, *, last: bool
    ) -> Join:
        kind = self.rng.choices(
            (
                "JOIN",
                "INNER JOIN",
                "LEFT JOIN",
                "LEFT OUTER JOIN",
                "RIGHT JOIN",
                "FULL OUTER JOIN",
                "CROSS JOIN",
            ),
            (30, 10, 24, 6, 8, 7, 6),
        )[0]
        left = scope.relations[-1]
        before = list(scope.relations)
        scope.relations.append(visible)
        if kind == "CROSS JOIN":
            return Join(kind, relation)
        common = [name for name in KEYS if name in left.columns and name in visible.columns]
        if common and last and len(before) == 1 and self.rng.random() < 0.12:
            return self._using(scope, kind, relation, left, visible, self.rng.choice(common))
        around, scope.outer = scope.outer, []
        conditions = Conditions(scope, self.subquery, depth)
        on = conditions.on(
            key=self._pair(before, visible), subqueries=kind in ("JOIN", "INNER JOIN")
        )
        scope.outer = around
        return Join(kind, relation, on)

    def _using(
        self, scope: Scope, kind: str, relation: Relation, left: Visible, right: Visible, name: str
    ) -> Join:
        first, second = f"{left.key}.{name}", f"{right.key}.{name}"
        merged = second if kind.startswith("RIGHT") else first
        if kind.startswith("FULL"):
            merged = f"coalesce({first}, {second})"
        scope.merged[name] = Text(name, merged, frozenset({left.key, right.key}))
        scope.merged_types[name] = left.columns[name]
        return Join(kind, relation, using=(name,), using_duck=f"{first} = {second}")

    def _pair(self, before: list[Visible], visible: Visible) -> Text | None:
        left = self.rng.choice(before)
        mine = [name for name, type_ in visible.columns.items() if type_ == "int"]
        theirs = [name for name, type_ in left.columns.items() if type_ == "int"]
        if not mine or not theirs:
            return None
        both = [name for name in KEYS if name in mine and name in theirs]
        here = there = self.rng.choice(both) if both else ""
        if not both or self.rng.random() < 0.1:
            here, there = self.rng.choice(mine), self.rng.choice(theirs)
        sides = [(left.alias, left.key, there), (visible.alias, visible.key, here)]
        if self.rng.random() < 0.5:
            sides.reverse()
        keys = frozenset({left.key, visible.key})
        spark = " = ".join(f"{alias}.{name}" for alias, _, name in sides)
        return Text(spark, " = ".join(f"{key}.{name}" for _, key, name in sides), keys)

    def _relation(self, scope: Scope, depth: int, subquery: bool) -> tuple[Relation, Visible]:
        self.number += 1
        key = f"t{self.number}"
        roll = self.rng.random()
        if self.ctes and roll < 0.5:
            name = self.rng.choice(sorted(self.ctes))
            alias = self._alias(scope, name)
            return Relation(key, alias, cte=name), Visible(key, alias, self.ctes[name])
        derived = 0.7 if self.layered else 0.13
        if depth < 2 and roll < (0.04 if subquery else derived):
            types = ("int", *self._types()[:2])
            query = self.block(types, depth + 1)
            alias = self._alias(scope, "")
            return Relation(key, alias, query=query), Visible(
                key, alias, dict(zip(query.names, types, strict=True))
            )
        weights = (35, 35, 20, 10)
        table = self.rng.choices(sorted(TABLES), weights)[0]
        alias = self._alias(scope, table)
        return Relation(key, alias, table=table), Visible(key, alias, TABLES[table], ARRIVAL[table])

    def _alias(self, scope: Scope, name: str) -> str:
        """The relation's own name, or a letter; rarely one that hides a relation around it."""
        taken = {relation.alias for relation in scope.relations}
        if self.rng.random() > 0.1:
            taken |= {relation.alias for relation in scope.outer}
        if name and name not in taken and self.rng.random() < 0.4:
            return name
        return self.rng.choice([alias for alias in ALIASES if alias not in taken])

    # --- subqueries ---

    def subquery(self, outer: Scope, type_: str | None, depth: int) -> Query:
        """The query of an EXISTS (type None) or of an IN with values of a type."""
        if type_ is None:
            return self.select(None, depth + 1, outer)
        if self.rng.random() < 0.12:
            return self.block((type_,), depth + 1)
        select = self.select(None, depth + 1, outer)
        return self._returning(select, type_)

    def _returning(self, select: Select, type_: str) -> Select:
        choices = [
            Text(f"{alias}.{name}", f"{key}.{name}", frozenset({key}))
            for key, alias, columns in self._columns(select)
            for name, its in columns.items()
            if its == type_
        ]
        likely = [text for text in choices if text.spark.rsplit(".", 1)[-1] in KEYS] or choices
        text = self.rng.choice(likely) if likely else values.constant(Scope(self.rng), type_)
        return Select(
            (Item(text, "one", aliased=self.rng.random() < 0.3),), select.joins, select.where
        )

    def _columns(self, select: Select) -> list[tuple[str, str, dict[str, str]]]:
        found = []
        for join in select.joins:
            relation = join.relation
            if relation.table:
                found.append((relation.key, relation.alias, TABLES[relation.table]))
            elif relation.cte:
                found.append((relation.key, relation.alias, self.ctes[relation.cte]))
        return found


def random_query(rng: random.Random, *, layered: bool = False) -> Query:
    """A random query with at least one append-only source.

    layered
        Most of its derived tables and many of its blocks count by value, over one another.
    """
    while True:
        query = Generator(rng, layered=layered).query()
        if len(spark_text(query)) > LONGEST:
            continue
        if any(ARRIVAL[table] for table in tables_of(query)):
            return query
