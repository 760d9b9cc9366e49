"""Random conditions: time atoms, predicates and subqueries under AND, OR, NOT and CASE."""

from __future__ import annotations

from collections.abc import Callable

from judge import values
from judge.atoms import atom
from judge.scope import Scope
from judge.tree import Cond, Exists, Form, In, Query, Text

FORMS: tuple[tuple[str, str, int], ...] = (
    ("IS NULL", "({}) IS NULL", 1),
    ("IS NOT NULL", "({}) IS NOT NULL", 1),
    ("IS TRUE", "({}) IS TRUE", 1),
    ("IS FALSE", "({}) IS FALSE", 1),
    ("IS NOT TRUE", "({}) IS NOT TRUE", 1),
    ("IS NOT FALSE", "({}) IS NOT FALSE", 1),
    ("CASE", "CASE WHEN {} THEN {} ELSE {} END", 3),
    ("CASE", "CASE WHEN {} THEN {} END", 2),
    ("CASE", "CASE WHEN {} THEN true ELSE {} END", 2),
    ("COALESCE", "coalesce({}, false)", 1),
    ("COALESCE", "coalesce({}, true)", 1),
    ("COALESCE", "coalesce({}, {})", 2),
    ("IF", "if({}, {}, {})", 3),
    ("SAME", "({}) <=> ({})", 2),
    ("EQUAL", "({}) = ({})", 2),
    ("DIFFER", "({}) <> ({})", 2),
    ("EQUAL", "({}) = true", 1),
)
DUCK = {"IF": "CASE WHEN {} THEN {} ELSE {} END", "SAME": "({}) IS NOT DISTINCT FROM ({})"}
Subquery = Callable[[Scope, str | None, int], Query]


class Conditions:
    """Makes the conditions of one SELECT."""

    def __init__(self, scope: Scope, subquery: Subquery, depth: int) -> None:
        self.scope, self.rng, self.subquery, self.depth = scope, scope.rng, subquery, depth

    def where(self, *, first: bool) -> Cond | None:
        """A WHERE clause; `first`: nothing has joined or correlated the relations yet."""
        rng, parts = self.rng, []
        if (self.scope.outer and rng.random() < 0.85) or (first and len(self.scope.relations) > 1):
            parts.append(values.key_equality(self.scope))
        for share in (0.66, 0.22, 0.05):
            if rng.random() < share:
                parts.append(self.part(0))
        share = 0.42 if self.depth == 0 else 0.22 if self.depth == 1 else 0.1
        while self.depth < 3 and rng.random() < share:
            parts.append(self.exists())
            share /= 2
        rng.shuffle(parts)
        return self._all(parts)

    def on(self, *, key: Text | None, subqueries: bool) -> Cond:
        """An ON condition."""
        parts: list[Cond] = [key] if key is not None and self.rng.random() < 0.9 else []
        if not parts or self.rng.random() < 0.33:
            parts.append(self.part(1))
        if subqueries and self.depth < 2 and self.rng.random() < 0.06:
            parts.append(self.exists())
        condition = self._all(parts)
        assert condition is not None
        return condition

    @staticmethod
    def _all(parts: list[Cond]) -> Cond | None:
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else Form("AND", "", tuple(parts))

    def part(self, level: int) -> Cond:
        """A condition, nested a little."""
        rng = self.rng
        roll = rng.random()
        if level > 1 or roll < 0.52:
            return atom(self.scope)
        if roll < 0.64:
            return values.predicate(self.scope)
        if roll < 0.80:
            return Form("OR", "", tuple(self._branch(level) for _ in range(rng.choice((2, 2, 3)))))
        if roll < 0.86:
            return Form("AND", "", tuple(self._branch(level) for _ in range(2)))
        if roll < 0.93:
            return Form("NOT", "NOT ({})", (self.part(level + 1),))
        name, template, count = rng.choice(FORMS)
        args = tuple(self._leaf() for _ in range(count))
        return Form(name, template, args, DUCK.get(name))

    def _branch(self, level: int) -> Cond:
        roll = self.rng.random()
        if roll < 0.25:
            return values.predicate(self.scope)
        if roll < 0.36 and self.depth < 2:
            return self.exists()
        return self.part(level + 1)

    def _leaf(self) -> Cond:
        roll = self.rng.random()
        if roll < 0.03 and self.depth < 2:
            return self.exists()
        return atom(self.scope) if roll < 0.6 else values.predicate(self.scope)

    def exists(self) -> Cond:
        """[NOT] EXISTS or [NOT] IN."""
        negated = self.rng.random() < 0.55
        if self.rng.random() < 0.72:
            return Exists(negated, self.subquery(self.scope, None, self.depth))
        type_ = self.rng.choice(("int", "int", "int", "time"))
        value = self.scope.column(type_, outer=0) or values.constant(self.scope, type_)
        return In(negated, value, self.subquery(self.scope, type_, self.depth))
