"""Queries that count by value: membership of a row of values, and all values there may be.

A value is in the answer at an instant iff some derivation of it is: DISTINCT and UNION are EXISTS
on values, INTERSECT is EXISTS in both, EXCEPT is EXISTS and NOT EXISTS; NULLs are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.facts import keys
from tapestry.sql.facts.common_types import SHAPE, shape_of, type_of
from tapestry.sql.ir import (
    And,
    Arm,
    Bag,
    Condition,
    DerivedTable,
    ExistsFormula,
    Formula,
    Or,
    SetQuery,
    SourceTable,
    TimeAtom,
    UnionAll,
    all_of,
    any_of,
)
from tapestry.sql.work import spend

_ARM = 4
"""Units for an arm, besides those for its columns."""
_OPENED = 30
"""Units for an arm that passes find in a table by value, each time."""

_JOINED = (
    "join the left side instead of EXISTS (SELECT DISTINCT), and write the right side as NOT EXISTS"
    " in WHERE"
)

INTERNAL = frozenset({"_k", "_b", "_f", "_e", "_w", "_r", "_n", "_o", "_at", "_rank"})
"""Aliases that the rendering uses for relations of its own, and for columns beside them."""


_Q = TypeVar("_Q", bound=Bag | SetQuery)


@dataclass
class Names:
    """Aliases that are unique in the whole query."""

    taken: set[str] = field(default_factory=lambda: set(INTERNAL))

    def new(self, wanted: str) -> str:
        """Return the wanted alias, with a number appended if it is taken."""
        name, count = wanted, 1
        while name.lower() in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name.lower())
        return name


def member(query: Bag | SetQuery | UnionAll, values: tuple[exp.Expr, ...]) -> Formula:
    """Return the formula that holds when this row of values is in the answer.

    Values are compared with ``<=>`` (NULLs are equal).
    """
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


def timeless(query: _Q) -> _Q:
    """Return the query itself; raise Refusal if its rows are compared by values that read the
    clock.
    """
    for arm in _all_arms(query):
        for value in arm.select:
            if timing.contains_now(value):
                raise Refusal(
                    "now() stands in the select list of a subquery whose rows count by value",
                    value.sql("spark"),
                    "write now() in the outermost select list, or in the condition that"
                    " compares it",
                    code="clock-in-select-list",
                )
    return query


def negated(formula: Formula) -> Formula:
    """Return the negation of a membership formula, which is never unknown."""
    spend(1, "rows of queries that count by value")
    if isinstance(formula, And):
        return any_of(*(negated(part) for part in formula.parts))
    if isinstance(formula, Or):
        return all_of(*(negated(part) for part in formula.parts))
    assert isinstance(formula, ExistsFormula)
    return ExistsFormula(not formula.negated, formula.arms)


def universe_of(query: Bag | SetQuery | UnionAll) -> tuple[Arm, ...]:
    """Return arms with all values that the query may ever hold (of EXCEPT, the left side's)."""
    if isinstance(query, Bag):
        spend(len(query.arms), "rows of queries that count by value")
        return query.arms
    if isinstance(query, SetQuery) and query.operator in ("except", "intersect"):
        return universe_of(query.inputs[0])
    return tuple(arm for part in query.inputs for arm in universe_of(part))


def arms_of(query: Bag | SetQuery, names: Names) -> list[Arm]:
    """Return the rows of a query as arms; under EXISTS duplicates do not matter."""
    if isinstance(query, Bag):
        return list(query.arms)
    if query.operator in ("distinct", "union"):
        return [arm for part in query.inputs for arm in arms_of(one(part), names)]
    return [counted(query, names)]


def found_in(query: Bag | SetQuery | UnionAll) -> list[Arm]:
    """Return the rows of a query under EXISTS as arms, without a table of values.

    ``A EXCEPT B`` has a row iff A has one whose values are not in B; INTERSECT alike.
    """
    if isinstance(query, Bag):
        return list(query.arms)
    if isinstance(query, UnionAll) or query.operator in ("distinct", "union"):
        return [arm for part in query.inputs for arm in found_in(part)]
    arms = []
    for arm in found_in(query.inputs[0]):
        where = [arm.where]
        for other in query.inputs[1:]:
            if query.operator == "intersect":
                where.append(member(other, arm.select))
                continue
            _refuse_correlated(other, "EXCEPT", _JOINED)
            where.append(negated(member(other, arm.select)))
        arms.append(Arm(arm.tables, all_of(*where), arm.select))
    return arms


def counted(query: SetQuery, names: Names) -> Arm:
    """Return the rows of a query that counts by value, each value once, as one arm."""
    listed = tuple(f"c{i}" for i, _ in enumerate(universe_of(query)[0].select, start=1))
    table, values = value_table(query, names.new("v"), listed)
    key = keys.of_values(values)
    return Arm((table,), member(query, values), values, (key,))


def value_table(
    query: SetQuery, alias: str, columns: tuple[str, ...]
) -> tuple[DerivedTable, tuple[exp.Expr, ...]]:
    """Return a table of all values that a query may ever hold, and its typed columns."""
    hint = "move the condition on the outer row out of it, into the WHERE around it"
    _refuse_correlated(query, "a derived table that counts by value", hint)
    universe = universe_of(query)
    weight = _weight(universe)
    spend(_OPENED * weight, "queries that count by value inside of each other")
    values = []
    for name, first in zip(columns, universe[0].select, strict=True):
        reference = exp.column(name, table=alias)
        reference.type = first.type
        if not type_of(first):
            reference.meta[SHAPE] = shape_of(first)
        values.append(reference)
    return DerivedTable(alias, columns, universe, weight), tuple(values)


def _weight(arms: Iterable[Arm]) -> int:
    """Return the number of arms, each counted as often as passes visit it.

    A table by value is in FROM, and once more in the condition beside it: a nest of them doubles
    with each level.
    """
    total = 0
    todo = list(arms)
    while todo:
        arm = todo.pop()
        total += 1 + sum(table.weight for table in arm.tables if isinstance(table, DerivedTable))
        parts = [arm.where]
        while parts:
            part = parts.pop()
            spend(1, "queries that count by value inside of each other")
            if isinstance(part, And | Or):
                parts += part.parts
            elif isinstance(part, ExistsFormula):
                todo += part.arms
    return total


def _refuse_correlated(query: Bag | SetQuery, what: str, hint: str) -> None:
    """Raise Refusal if a query reads columns of the row around it.

    A table of values cannot see that row, nor can a NOT EXISTS two levels down.
    """
    for arm in _all_arms(query):
        for column in _outer_columns(arm, frozenset()):
            raise Refusal(
                f"{what} refers to the query around it",
                column.sql("spark"),
                hint,
                code="correlated",
            )


def _all_arms(query: Bag | SetQuery | UnionAll) -> Iterator[Arm]:
    if isinstance(query, Bag):
        yield from query.arms
        return
    for part in query.inputs:
        yield from _all_arms(part)


def _outer_columns(arm: Arm, around: frozenset[str]) -> Iterator[exp.Column]:
    """Yield the columns of tables outside of the arm and of those around it in the query."""
    spend(_ARM + len(arm.tables), "rows of queries that count by value")
    known = around | {table.alias for table in arm.tables}
    joined = [table for table in arm.tables if isinstance(table, SourceTable)]
    joins = (on for table in joined for on in table.on or ())
    todo: list[Formula] = [arm.where, *map(Condition, (*arm.select, *joins))]
    todo += (formula for table in joined for formula in table.within)
    while todo:
        formula = todo.pop()
        spend(1, "rows of queries that count by value")
        if isinstance(formula, And | Or):
            todo += formula.parts
        elif isinstance(formula, ExistsFormula):
            for inner in formula.arms:
                yield from _outer_columns(inner, known)
        else:
            node = formula.sql if isinstance(formula, Condition | TimeAtom) else formula.bound
            yield from (column for column in node.find_all(exp.Column) if column.table not in known)


def _same(arm: Arm, values: tuple[exp.Expr, ...]) -> list[Formula]:
    spend(_ARM + 4 * len(values), "rows of queries that count by value")
    return [
        Condition(exp.NullSafeEQ(this=timing.wrapped(mine), expression=timing.wrapped(value)))
        for mine, value in zip(arm.select, values, strict=True)
    ]


def one(query: Bag | SetQuery | UnionAll) -> Bag | SetQuery:
    """Return a UNION ALL inside of a set operation as one that counts by value, which is the same
    there.
    """
    return SetQuery("union", query.inputs) if isinstance(query, UnionAll) else query


def union_all(sides: list[Bag | SetQuery | UnionAll]) -> UnionAll:
    """Return a UNION ALL of the arms of all sides."""
    flat: list[Bag | SetQuery] = []
    for side in sides:
        flat.extend(side.inputs if isinstance(side, UnionAll) else (side,))
    return UnionAll(tuple(flat))
