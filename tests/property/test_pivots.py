"""PIVOT against what Spark makes of it, worked out in Python at every microsecond.

Spark has two ways (``tapestry.sql.read.pivots``): where every aggregate is a number or a truth
value, a value of FOR without a row gives NULL; else an aggregate of nothing, which for a count is
0. Both were seen on Spark 4.1. NULLs stand in FOR and among the values, and values without a row.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from tests.marks import more
from tests.property.test_lifted_arms import CASES, LAST, Case, at, incremental, load, random_case
from tests.seeds import seeds

Row = tuple[Any, ...]
COLUMNS = ("id", "k", "v", "p", "w")
"""Of a row (id, k, v, ts): itself, the parity of its id, and its v as text."""


@dataclass(frozen=True)
class Aggregate:
    """One as it is written, what it gives of some rows, what it uses, and what a number is."""

    text: str
    of: Callable[[list[dict[str, Any]]], Any]
    uses: frozenset[str]
    number: bool = True


def _least(values: Iterable[Any], pick: Callable[[list[Any]], Any]) -> Any:
    known = [value for value in values if value is not None]
    return pick(known) if known else None


AGGREGATES = (
    Aggregate("count(*)", len, frozenset()),
    Aggregate("count(v)", lambda rows: sum(r["v"] is not None for r in rows), frozenset("v")),
    Aggregate(
        "count(DISTINCT v)",
        lambda rows: len({r["v"] for r in rows} - {None}),
        frozenset("v"),
    ),
    Aggregate("sum(v)", lambda rows: _least((r["v"] for r in rows), sum), frozenset("v")),
    Aggregate(
        "count(*) FILTER (WHERE v > 1)",
        lambda rows: sum(r["v"] is not None and r["v"] > 1 for r in rows),
        frozenset("v"),
    ),
    Aggregate(
        "coalesce(sum(v), -1)",
        lambda rows: _least((r["v"] for r in rows), sum) if any_value(rows, "v") else -1,
        frozenset("v"),
    ),
    Aggregate("max(w)", lambda rows: _least((r["w"] for r in rows), max), frozenset("w"), False),
    Aggregate("min(id)", lambda rows: _least((r["id"] for r in rows), min), frozenset(["id"])),
)
KEYS: tuple[tuple[tuple[str, ...], tuple[Row, ...]], ...] = (
    (("k",), ((1,), (2,), (None,), (9,))),
    (("p",), ((1,), (0,))),
    (("k", "p"), ((1, 0), (None, 1), (2, 1))),
)


def any_value(rows: list[dict[str, Any]], column: str) -> bool:
    return any(row[column] is not None for row in rows)


@dataclass(frozen=True)
class Turned:
    """A PIVOT: the columns of FOR, its values, its aggregates, and the columns of what it turns."""

    keys: tuple[str, ...]
    values: tuple[Row, ...]
    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]

    def sql(self, condition: str) -> str:
        """The text, over the rows of m for which a condition holds."""
        spelt = {"p": "m.id % 2 AS p", "w": "CAST(m.v AS STRING) AS w"}
        listed = ", ".join(spelt.get(name, f"m.{name}") for name in self.columns)
        items = ", ".join(f"{one.text} AS a{n}" for n, one in enumerate(self.aggregates))
        one = len(self.keys) == 1
        values = ", ".join(
            f"{_list(value, one)} AS x{n}" for n, value in enumerate(self.values)
        ).replace("None", "NULL")
        keys = self.keys[0] if one else f"({', '.join(self.keys)})"
        inner = f"(SELECT {listed} FROM m WHERE {condition})"
        return f"SELECT * FROM {inner} PIVOT ({items} FOR {keys} IN ({values}))"

    def of(self, rows: list[dict[str, Any]]) -> set[Row]:
        """The answer over some rows."""
        used = set(self.keys).union(*(one.uses for one in self.aggregates))
        by = [name for name in self.columns if name not in used]
        groups: dict[Row, list[dict[str, Any]]] = {} if by else {(): []}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in by), []).append(row)
        numbers = all(one.number for one in self.aggregates)
        answer = set()
        for group, members in groups.items():
            cells: list[Any] = []
            for value in self.values:
                mine = [row for row in members if tuple(row[k] for k in self.keys) == value]
                nothing = numbers and not mine
                cells += [None if nothing else one.of(mine) for one in self.aggregates]
            answer.add((*group, *cells))
        return answer


def _list(value: Row, one: bool) -> str:
    return str(value[0]) if one else f"({', '.join(map(str, value))})"


def _turned(rng: random.Random) -> Turned:
    keys, values = rng.choice(KEYS)
    aggregates = tuple(rng.sample(AGGREGATES, rng.randint(1, 3)))
    needed = set(keys).union(*(one.uses for one in aggregates))
    more = rng.sample(COLUMNS, rng.randint(0, 2))
    columns = tuple(name for name in COLUMNS if name in needed or name in more)
    return Turned(keys, tuple(rng.sample(values, rng.randint(1, len(values)))), aggregates, columns)


def _visible(case: Case, condition: str, s: int, length: int) -> list[dict[str, Any]]:
    rows = []
    for number, k, v, ts in case.rows["m"]:
        arrived = ts is not None and ts <= at(s)
        holds = {
            "TRUE": True,
            "over": arrived and ts > at(s - length),
            "under": arrived and ts <= at(s - length),
        }[condition]
        if arrived and holds:
            text = None if v is None else str(v)
            rows.append(dict(zip(COLUMNS, (number, k, v, number % 2, text), strict=True)))
    return rows


@pytest.mark.parametrize("condition", [more("TRUE"), more("over"), "under"])
def test_a_pivot_is_what_spark_makes_of_it(condition: str) -> None:
    answers = 0
    for number in seeds(CASES):
        rng = random.Random(number)
        turned, length = _turned(rng), rng.randint(1, 8)
        i = f"INTERVAL '{length}' MICROSECOND"
        conditions = {"over": f"m.ts > now() - {i}", "under": f"m.ts + {i} <= now()"}
        drawn = random_case(number, "SELECT m.id FROM m")
        case = Case(
            turned.sql(conditions.get(condition, condition)), drawn.rows, drawn.ends, drawn.begin
        )
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        load(connection, case)
        known = [ts for *_, ts in case.rows["m"] if ts is not None]
        start = case.begin
        if start is None:
            start = min((ts.microsecond for ts in known), default=LAST + 1)
        right: dict[Row, int] = {}
        for s in range(start, LAST + 1):
            for row in turned.of(_visible(case, condition, s, length)):
                right.setdefault(row, s)
        for end, found in incremental(connection, case):
            assert found == {row: s for row, s in right.items() if s <= end}, (end, case)
        answers += len(right)
    assert answers
