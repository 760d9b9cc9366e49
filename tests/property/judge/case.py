"""One case: a query, data, a sequence of windows; and what the definition says of it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from typing import Any

import duckdb

from judge.data import MICRO, STEP, Data, random_data
from judge.oracle import Answers, Definition, beginning, instants, load
from judge.queries import random_query
from judge.render import spark_text
from judge.schema import ARRIVAL, BASE, TABLES
from judge.tree import Query, Relation, walk


@dataclass(frozen=True)
class Case:
    """A query over data, run in windows that end at `ends`; `pinned`: a run sees arrived rows."""

    query: Query
    data: Data
    ends: tuple[datetime, ...]
    begin: datetime | None = None
    pinned: bool = False
    number: int = -1
    assume: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The query as a user writes it."""
        return spark_text(self.query)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of its answers."""
        return self.query.names


def random_case(number: int, *, layered: bool = False) -> Case:
    """The case of this number: always the same."""
    rng = random.Random(number)
    query, data = random_query(rng, layered=layered), random_data(rng)
    begin = _moment(rng, -4, 12) if rng.random() < 0.08 else None
    return Case(query, data, _ends(rng), begin, rng.random() < 0.4, number)


def layered_case(number: int) -> Case:
    """A case whose query counts by value what was counted by value: DISTINCT over DISTINCT.

    In every third one there are rows that end.
    """
    case = random_case(number, layered=True)
    return with_ends(case) if number % 3 == 2 else case


def assuming_case(number: int) -> Case | None:
    """The case with an order of two arrival columns that its data keeps; None: no two tables."""
    case, rng = random_case(number), random.Random(number)
    grown = {}
    for node in walk(case.query):
        if isinstance(node, Relation):
            grown.setdefault(node.alias, []).append(node.table)
    single = [(a, tables[0]) for a, tables in grown.items() if len(tables) == 1 and tables[0]]
    pairs = [
        (one, two) for one in single for two in single
        if one[1] != two[1] and ARRIVAL[one[1]] and ARRIVAL[two[1]]
    ]  # fmt: skip
    if not pairs:
        return None
    (earlier, first), (later, second) = rng.choice(pairs)
    text = f"{later}.{ARRIVAL[second]} >= {earlier}.{ARRIVAL[first]}"
    return replace(case, data=_ordered(case.data, first, second), assume=(text,))


def ending_case(number: int) -> Case:
    """The case with rows that end: after a window, or at any instant; at times all of the first."""
    return with_ends(random_case(number))


def with_ends(case: Case) -> Case:
    rng = random.Random(case.number)
    ended = {}
    for table, rows in case.data.rows.items():
        if ARRIVAL[table] is None:
            continue
        for row in rows:
            if rng.random() < 0.4:
                after = rng.choice(case.ends) + MICRO
                ended[table, row[-1]] = after if rng.random() < 0.6 else _moment(rng, 0, 24)
    if rng.random() < 0.15:
        ended |= _wiped(case)
    return replace(case, data=replace(case.data, ended=ended))


def _wiped(case: Case) -> dict[tuple[str, int], datetime]:
    """Whatever the first run saw ends just after it."""
    first = case.ends[0]
    return {
        (table, row[-1]): first + MICRO
        for table, rows in case.data.rows.items()
        for row in rows
        if ARRIVAL[table] is not None and row[-2] is not None and row[-2] <= first
    }


def _ordered(data: Data, first: str, second: str) -> Data:
    """The second table's rows moved on until none has a ts before one of the first table."""
    one, two = _place(first), _place(second)
    highest = max((row[one] for row in data.rows[first] if row[one] is not None), default=None)
    lowest = min((row[two] for row in data.rows[second] if row[two] is not None), default=None)
    if highest is None or lowest is None or lowest >= highest:
        return data
    step = -(-(highest - lowest) // STEP) * STEP  # the definition asks on the grid
    moved = tuple(
        (*row[:two], row[two] + step, *row[two + 1 : -2], row[-2] + step, row[-1])
        if row[two] is not None else row
        for row in data.rows[second]
    )  # fmt: skip
    return replace(data, rows={**data.rows, second: moved})


def _place(table: str) -> int:
    return list(TABLES[table]).index(str(ARRIVAL[table]))


def _ends(rng: random.Random) -> tuple[datetime, ...]:
    last = BASE + STEP * rng.randint(9, 34)
    count = rng.choices((0, 1, 2, 3, 10), (38, 27, 17, 11, 7))[0]
    return tuple(
        sorted({last, *(end for _ in range(count) if (end := _moment(rng, 0, 24)) < last)})
    )


def _moment(rng: random.Random, first: int, last: int) -> datetime:
    tick = rng.choice((timedelta(0), timedelta(0), MICRO, -MICRO))
    return BASE + STEP * rng.randint(first, last) + tick


def expected(case: Case, connection: duckdb.DuckDBPyConnection) -> Answers:
    """What the definition says: every answer with its first instant, over all windows."""
    load(connection, case.data)
    start = beginning(case.query, case.data, case.begin)
    if start is None or start > case.ends[-1]:
        return Counter()
    moments = instants(case.query, case.data, start, case.ends[-1])
    return normalized(Definition(case.query, connection).answers(moments).elements())


def normalized(rows: Any) -> Answers:
    """Rows as a bag, with one representation for each value."""
    return Counter(tuple(_plain(cell) for cell in row) for row in rows)


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.astimezone(timezone.utc).replace(tzinfo=None) if cell.tzinfo else cell
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else cell
