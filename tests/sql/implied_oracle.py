"""Does every row that fulfils conditions fulfil what is inferred of them? By trying."""

from __future__ import annotations

from collections import Counter
from random import Random

from sqlglot import exp
from tests.sql.random_conditions import ALONE, Conjunctions, Key, near, rows_of
from tests.sql.spark_values import Evaluation, Value, holds

from tapestry.sql.infer.imply import Knowledge
from tapestry.sql.ir import Inferred

TRIES = 12
"""Rows that are sought for each inferred condition."""


def inferred_of(types: dict[Key, str], conditions: list[exp.Expr]) -> tuple[Inferred, ...]:
    texts = {key for key, kind in types.items() if kind == "string"}
    knowledge = Knowledge(tuple(dict.fromkeys(conditions)), "UTC", texts)
    return knowledge.of(dict.fromkeys(alias for alias, _ in types), ())


def violations(seed: int, group: str, tries: int = TRIES) -> tuple[Counter[str], list[str]]:
    """Counts of what was looked at, and what broke an inferred condition, in words."""
    random = Random(f"{group} {seed}")
    made = Conjunctions(random, ALONE[group])
    return broken_by(made.types, made.some(), random, tries)


def broken_by(
    types: dict[Key, str], conditions: list[exp.Expr], random: Random, tries: int
) -> tuple[Counter[str], list[str]]:
    """The same of conditions over columns of these types."""
    inferred = inferred_of(types, conditions)
    seen: Counter[str] = Counter(cases=1, inferred=len(inferred), some=bool(inferred))
    broken = []
    for one in inferred:
        for row in rows_near(one, types, conditions, random, tries):
            seen["rows"] += 1
            seen["at an end"] += at_end(one, row)
            if holds(one.condition, row) is not True:
                shown = ", ".join(f"{a}.{n} {k} = {v!r}" for (a, n), (k, v) in row.items())
                texts = " AND ".join(c.sql("spark") for c in conditions)
                broken.append(f"{texts}\n  gives {one.condition.sql('spark')}\n  not of {shown}")
                break
    return seen, broken


def rows_near(
    one: Inferred, types: dict[Key, str], conditions: list[exp.Expr], random: Random, tries: int
) -> list[dict[Key, Value]]:
    """Rows that fulfil the conditions, sought from both sides of an end on."""
    (column,) = set(one.condition.find_all(exp.Column))
    key = column.table, column.name
    kind = types[key]
    literal = next(one.condition.find_all(exp.Cast, exp.Neg, exp.Literal), None)
    found = []
    for n in range(tries):
        wanted = None
        if n % 2 and literal is not None and kind not in ("string", "boolean"):
            end = Evaluation({}, "UTC").of(literal)[1]
            if not isinstance(end, str):
                wanted = (key, near(kind, end, random))
        row = rows_of(types, conditions, wanted, random)
        if row is not None:
            found.append(row)
    return found


def at_end(one: Inferred, row: dict[Key, Value]) -> bool:
    """Is the row exactly at the inferred end?"""
    if not isinstance(one.condition, exp.GTE | exp.LTE):
        return False
    equal = exp.EQ(this=one.condition.this, expression=one.condition.expression)
    return holds(equal, row) is True
