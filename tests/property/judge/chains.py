"""Random queries of three to six joins, most of them LEFT JOINs to tables that grow; small tables.

A row of each of six tables beside each other is one row out of many: with more than three rows a
table the definition, which looks at all of them at every instant, would take minutes.
"""

from __future__ import annotations

import random
from dataclasses import replace

from judge.case import Case, random_case, with_ends
from judge.conditions import Conditions
from judge.data import Data
from judge.queries import Generator
from judge.schema import ARRIVAL, TABLES
from judge.scope import Scope, Visible
from judge.tree import Cond, Form, Item, Join, Query, Relation, Select, Text, tables_of

ROWS = 3


class _Qualified(Scope):
    """Relations whose columns are named with their aliases: further ones are joined later."""

    @staticmethod
    def _unambiguous(name: str, *, own: bool) -> bool:
        return False


class Chains(Generator):
    """Makes queries of one block over a chain of joins."""

    def chain(self) -> Query:
        """A whole query."""
        scope = _Qualified(self.rng)
        joins = self._chain(scope)
        where = self._where(scope)
        items = self._listed(scope)
        distinct = self.rng.random() < 0.1
        return Select(items, joins, where, distinct=distinct)

    def _chain(self, scope: Scope) -> tuple[Join, ...]:
        joins: list[Join] = []
        for position in range(self.rng.choice((4, 4, 5, 5, 6, 7))):
            relation, visible = self._table(scope, derived=0.15 if position else 0.1)
            if not joins:
                scope.relations.append(visible)
                joins.append(Join("", relation))
                continue
            kind = self.rng.choices(("LEFT JOIN", "JOIN", "RIGHT JOIN"), (80, 15, 5))[0]
            before = list(scope.relations)
            scope.relations.append(visible)
            joins.append(Join(kind, relation, self._on(scope, before, visible)))
        return tuple(joins)

    def _on(self, scope: Scope, before: list[Visible], visible: Visible) -> Cond:
        pair = self._pair(before[:1] if self.rng.random() < 0.5 else before, visible)
        parts: list[Cond] = [pair] if pair is not None else []
        while not parts or self.rng.random() < 0.25:
            parts.append(
                self._about(scope, [visible, *self.rng.choice((before[:1], before[:1], []))])
            )
        return parts[0] if len(parts) == 1 else Form("AND", "", tuple(parts))

    def _about(self, scope: Scope, relations: list[Visible]) -> Cond:
        """A condition, half of them about some relations only."""
        if self.rng.random() < 0.15:
            return Conditions(scope, self.subquery, 3).part(2)
        few = _Qualified(self.rng, relations=relations)
        return Conditions(few, self.subquery, 3).part(self.rng.choice((1, 2)))

    def _where(self, scope: Scope) -> Cond | None:
        parts: list[Cond] = []
        if self.rng.random() < 0.4:
            one = self.rng.choice(scope.relations)
            name = self.rng.choice(list(one.columns))
            kind = self.rng.choice(("{} IS NULL", "{} IS NULL", "{} IS NOT NULL"))
            parts.append(Text.of(kind, scope.reference(one, name)))
        if self.rng.random() < 0.25:
            first = _Qualified(self.rng, relations=scope.relations[:1])
            parts.append(Conditions(first, self.subquery, 3).part(0))
        if self.rng.random() < 0.2:
            parts.append(Conditions(scope, self.subquery, 3).part(1))
        if self.rng.random() < 0.05:
            parts.append(Conditions(scope, self.subquery, 1).exists())
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else Form("AND", "", tuple(parts))

    def _listed(self, scope: Scope) -> tuple[Item, ...]:
        items = []
        for number, one in enumerate(scope.relations, 1):
            if self.rng.random() < 0.7 or not items:
                name = self.rng.choice(list(one.columns))
                text = Text(f"{one.alias}.{name}", f"{one.key}.{name}", frozenset({one.key}))
                items.append(Item(text, f"c{number}"))
        if self.rng.random() < 0.1:
            items.append(Item(Text("now()", "$now"), "seen_at", audit=True))
        return tuple(items)

    def _table(self, scope: Scope, derived: float) -> tuple[Relation, Visible]:
        self.number += 1
        key, table = f"t{self.number}", self.rng.choices(sorted(TABLES), (30, 30, 30, 10))[0]
        if self.rng.random() >= derived:
            alias = self._alias(scope, table)
            visible = Visible(key, alias, TABLES[table], ARRIVAL[table])
            return Relation(key, alias, table=table), visible
        inner = Scope(self.rng)
        self.number += 1
        own = f"t{self.number}"
        inner.relations.append(Visible(own, table, TABLES[table], ARRIVAL[table]))
        names = {"id": "int", "k": "int", "due": "time"}
        listed = [Item(inner.reference(inner.relations[0], name), name) for name in names]
        if self.rng.random() < 0.5:
            value = Text.of("coalesce({}, 0)", inner.reference(inner.relations[0], "id"))
            listed.append(Item(value, "n"))
            names["n"] = "int"
        where = None
        if self.rng.random() < 0.5:
            where = Conditions(inner, self.subquery, 3).part(2)
        query = Select(tuple(listed), (Join("", Relation(own, table, table=table)),), where)
        alias = self._alias(scope, "")
        return Relation(key, alias, query=query), Visible(key, alias, names)


def chain_case(number: int) -> Case:
    """The case of this number: always the same. In every third one there are rows that end."""
    rng = random.Random(number)
    while True:
        query = Chains(rng).chain()
        if any(ARRIVAL[table] for table in tables_of(query)):
            break
    case = random_case(number)
    case = replace(case, query=query, data=_small(rng, case.data))
    return with_ends(case) if number % 3 == 2 else case


def _small(rng: random.Random, data: Data) -> Data:
    """Few rows of each table, with keys that do not meet all others."""
    rows = {}
    for table, found in data.rows.items():
        kept = found[: rng.randint(1, ROWS)]
        places = [n for n, name in enumerate(TABLES[table]) if TABLES[table][name] == "int"]
        rows[table] = tuple(
            tuple(
                rng.choice((None, 1, 1, 2, 2)) if place in places else cell
                for place, cell in enumerate(row)
            )
            for row in kept
        )
    return replace(data, rows=rows)
