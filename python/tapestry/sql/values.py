"""Queries that count by value: membership of a row of values, and all values there may be.

A value is in the answer at an instant iff some derivation of it is: DISTINCT and UNION are EXISTS
on values, INTERSECT is EXISTS in both, EXCEPT is EXISTS and NOT EXISTS; NULLs are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.ir import (
    And,
    Arm,
    Bag,
    Condition,
    ExistsFormula,
    Formula,
    Or,
    SetQuery,
    UnionAll,
    ValueTable,
    all_of,
    any_of,
)

INTERNAL = frozenset({"_k", "_b", "_f", "_e", "_w", "_r", "_n", "_o"})
"""Aliases that the rendering uses for relations of its own."""


@dataclass
class Names:
    """Aliases that are unique in the whole query."""

    taken: set[str] = field(default_factory=lambda: set(INTERNAL))

    def new(self, wanted: str) -> str:
        """The wanted alias, or the next free one with a number."""
        name, count = wanted, 1
        while name.lower() in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name.lower())
        return name


def member(query: Bag | SetQuery | UnionAll, values: tuple[exp.Expr, ...]) -> Formula:
    """When is this row of values in the answer? Values compare with ``<=>`` (NULLs are equal)."""
    if isinstance(query, UnionAll):
        return any_of(*(member(part, values) for part in query.inputs))
    if isinstance(query, Bag):
        return any_of(
            *(
                ExistsFormula(False, (Arm(a.tables, all_of(a.where, *_same(a, values)), a.select),))
                for a in query.arms
            )
        )
    parts = [member(part, values) for part in query.inputs]
    if query.operator == "intersect":
        return all_of(*parts)
    if query.operator == "except":
        return all_of(parts[0], *(negated(part) for part in parts[1:]))
    return any_of(*parts)


def negated(formula: Formula) -> Formula:
    """The negation of a membership formula, which is never unknown."""
    if isinstance(formula, And):
        return any_of(*(negated(part) for part in formula.parts))
    if isinstance(formula, Or):
        return all_of(*(negated(part) for part in formula.parts))
    assert isinstance(formula, ExistsFormula)
    return ExistsFormula(not formula.negated, formula.arms)


def universe_of(query: Bag | SetQuery | UnionAll) -> tuple[Arm, ...]:
    """Arms whose values are all that the query may ever hold (of EXCEPT, the left side's)."""
    if isinstance(query, Bag):
        return query.arms
    if isinstance(query, SetQuery) and query.operator in ("except", "intersect"):
        return universe_of(query.inputs[0])
    return tuple(arm for part in query.inputs for arm in universe_of(part))


def arms_of(query: Bag | SetQuery, names: Names) -> list[Arm]:
    """The rows of a query as arms: for EXISTS it does not matter how often a row comes."""
    if isinstance(query, Bag):
        return list(query.arms)
    if query.operator in ("distinct", "union"):
        return [arm for part in query.inputs for arm in arms_of(one(part), names)]
    universe = universe_of(query)
    alias = names.new("v")
    columns = tuple(f"c{i}" for i, _ in enumerate(universe[0].select, start=1))
    values = []
    for column, first in zip(columns, universe[0].select, strict=True):
        reference = exp.column(column, table=alias)
        reference.type = first.type
        values.append(reference)
    where = member(query, tuple(values))
    return [Arm((ValueTable(alias, columns, universe),), where, tuple(values))]


def _same(arm: Arm, values: tuple[exp.Expr, ...]) -> list[Formula]:
    return [
        Condition(exp.NullSafeEQ(this=timing.wrapped(mine), expression=timing.wrapped(value)))
        for mine, value in zip(arm.select, values, strict=True)
    ]


def one(query: Bag | SetQuery | UnionAll) -> Bag | SetQuery:
    """A UNION ALL inside of a set operation: values count once anyway."""
    return SetQuery("union", query.inputs) if isinstance(query, UnionAll) else query


def union_all(sides: list[Bag | SetQuery | UnionAll]) -> UnionAll:
    """The arms of all sides beside each other."""
    flat: list[Bag | SetQuery] = []
    for side in sides:
        flat.extend(side.inputs if isinstance(side, UnionAll) else (side,))
    return UnionAll(tuple(flat))
