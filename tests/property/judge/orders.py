"""Random joins whose conditions order the times of their tables: in chains, with intervals, twice.

What follows from them leaves out branches and narrows tables; what does not follow must not.
"""

from __future__ import annotations

import random
from dataclasses import replace

from judge import values
from judge.case import Case, random_case, with_ends
from judge.chains import Chains
from judge.conditions import Conditions
from judge.schema import ARRIVAL
from judge.scope import Scope, Visible
from judge.tree import Cond, Exists, Form, Item, Join, Query, Select, Text, tables_of

OPERATORS = ("<=", "<=", "<", ">=", ">=", ">", "=", "BETWEEN", "BETWEEN")


class Orders(Chains):
    """Makes queries of one block over inner joins."""

    def ordered(self) -> Query:
        """A whole query."""
        scope = Scope(self.rng)
        joins = self._joined(scope, self.rng.choice((2, 2, 2, 3, 3, 4)))
        parts = self._orders(scope.relations, scope.relations)
        if self.rng.random() < 0.15:
            parts.append(Conditions(scope, self.subquery, 3).part(2))
        if self.rng.random() < 0.3:
            parts.append(self._absence(scope))
        if self.rng.random() < 0.2:
            parts = [Form("OR", "", (_all(parts), self._order(scope.relations, scope.relations)))]
        items = []
        for number, one in enumerate(scope.relations, 1):
            text = Text(f"{one.alias}.id", f"{one.key}.id", frozenset({one.key}))
            items.append(Item(text, f"c{number}"))
        return Select(tuple(items), joins, _all(parts), distinct=self.rng.random() < 0.15)

    def _joined(self, scope: Scope, count: int) -> tuple[Join, ...]:
        joins = []
        for position in range(count):
            relation, visible = self._table(scope, derived=0.1)
            equal = position and self.rng.random() < 0.4
            on = self._pair(scope.relations, visible) if equal else None
            scope.relations.append(visible)
            if position and on is None:
                on = self._order(scope.relations[:-1], [visible])
            joins.append(Join("JOIN" if position else "", relation, on))
        return tuple(joins)

    def _orders(self, ones: list[Visible], others: list[Visible]) -> list[Cond]:
        return [self._order(ones, others) for _ in range(self.rng.choice((1, 1, 1, 2, 2)))]

    def _order(self, ones: list[Visible], others: list[Visible]) -> Cond:
        one, other = self._time(ones), self._time(others)
        operator = self.rng.choice(OPERATORS)
        if operator == "BETWEEN":
            return Text.of("{} BETWEEN {} AND {}", one, other, self._moved(other))
        sides = [self._moved(one) if self.rng.random() < 0.4 else one, self._moved(other)]
        if self.rng.random() < 0.5:
            sides[1] = other
        return Text.of("{} " + operator + " {}", *sides)

    def _time(self, relations: list[Visible]) -> Text:
        one = self.rng.choice(relations)
        times = [name for name, kind in one.columns.items() if kind == "time"]
        name = self.rng.choice(times)
        if one.arrival is not None and self.rng.random() < 0.85:
            name = one.arrival
        return Text(f"{one.alias}.{name}", f"{one.key}.{name}", frozenset({one.key}))

    def _moved(self, time: Text) -> Text:
        form = self.rng.choice(("{} + {}", "{} - {}"))
        return Text.of(form, time, values.interval(Scope(self.rng), signed=False))

    def _absence(self, scope: Scope) -> Cond:
        inner = scope.inner()
        joins = self._joined(inner, self.rng.choice((1, 1, 2)))
        inner.hide()
        around = inner.outer or inner.relations
        parts = self._orders(inner.relations, around)
        if self.rng.random() < 0.6 and inner.outer:
            pair = self._pair(inner.outer, inner.relations[0])
            parts += [pair] if pair is not None else []
        one = Item(Text("1", "1"), "one")
        return Exists(self.rng.random() < 0.75, Select((one,), joins, _all(parts)))


def _all(parts: list[Cond]) -> Cond:
    return parts[0] if len(parts) == 1 else Form("AND", "", tuple(parts))


def orders_case(number: int) -> Case:
    """The case of this number: always the same. In every third one there are rows that end."""
    rng = random.Random(number)
    while True:
        query = Orders(rng).ordered()
        if any(ARRIVAL[table] for table in tables_of(query)):
            break
    case = replace(random_case(number), query=query)
    return with_ends(case) if number % 3 == 2 else case
