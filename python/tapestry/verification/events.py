"""Finds event instants: nothing changes between two of them, so checking them checks all.

``Q(s)`` changes where a row arrives or ends, and where a comparison with the clock changes its
mind. Such a comparison is monotone in s (what is not is refused as a model), so its order
``sign(x - y)`` runs through -1, 0, 1 or back; where it leaves the first and reaches the last is
found by bisection on s itself, in the engine. No comparison is solved: the engine only evaluates
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlglot import exp

from tapestry.instants import MICRO, from_micros, micros
from tapestry.names import ARRIVAL, ENDED
from tapestry.sql import timing
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.write.dialects import for_dialect
from tapestry.verification.atoms import Atoms, Pair
from tapestry.verification.definition import Definition

Ask = Callable[[str], Sequence[tuple[Any, ...]]]
"""Executes a statement and returns its rows."""

NOW = "_now_"
ROUNDS = 60  # 2**60 microseconds are 36,000 years


def event_instants(definition: Definition, after: datetime, until: datetime) -> str:
    """A statement of one column: the event instants in ``(after, until]``, in microseconds."""
    low, high = micros(after), micros(until)
    union = "\nUNION ALL ".join(event_parts(definition, after, until))
    return definition.statement(
        [], f"SELECT DISTINCT us FROM ({union}) AS events WHERE us > {low} AND us <= {high}"
    )


def event_parts(definition: Definition, after: datetime, until: datetime) -> list[str]:
    """SELECTs of one column ``us`` that together give the event instants, and perhaps others."""
    flips = _flips(definition, micros(after), micros(until))
    return [*_arrivals(definition), *_ends(definition), *flips]


def begin_of_time(definition: Definition, ask: Ask, t: datetime) -> datetime | None:
    """The earliest arrival in any source up to t; None where nothing has arrived by then."""
    union = " UNION ALL ".join(_arrivals(definition))
    ((us,),) = ask(definition.statement([], f"SELECT MIN(us) FROM ({union}) AS arrivals"))
    begin = None if us is None else from_micros(int(us))
    return None if begin is None or begin > t else begin


def opening(definition: Definition, ask: Ask, t: datetime) -> datetime:
    """The first instant that counts up to t; where time has not begun by then, the one after t.

    Before anything has arrived nothing is delivered, though look-up tables may have answers.
    """
    return begin_of_time(definition, ask, t) or t + MICRO


def _arrivals(definition: Definition) -> Iterator[str]:
    for source in definition.appended:
        us = definition.micros(ARRIVAL)
        yield f"SELECT {us} AS us FROM {definition.reads[source]}"


def _ends(definition: Definition) -> Iterator[str]:
    for source in definition.ending:
        yield f"SELECT {definition.micros(ENDED)} AS us FROM {definition.reads[source]}"


def _flips(definition: Definition, low: int, high: int) -> Iterator[str]:
    seen: set[str] = set()
    for pair in Atoms().of(definition.tree):
        for text in _flips_of(definition, pair, low, high):
            if text not in seen:
                seen.add(text)
                yield text


def _flips_of(definition: Definition, pair: Pair, low: int, high: int) -> Iterator[str]:
    """Yield the two instants at which a pair leaves its first order and reaches its last."""
    columns = list(dict.fromkeys(pair.left.find_all(exp.Column)))
    columns += [c for c in dict.fromkeys(pair.right.find_all(exp.Column)) if c not in columns]
    listed = ", ".join(f"{c.sql(definition.dialect)} AS _c{n}" for n, c in enumerate(columns, 1))
    tables = " CROSS JOIN ".join(
        f"{definition.reads[source]} AS {identifier(alias).sql(definition.dialect)}"
        for alias, source in pair.tables.items()
    )
    rows = (
        f"(SELECT DISTINCT {listed} FROM {tables}) AS _p" if columns else "(SELECT 1 AS one) AS _p"
    )
    left, right = (over(definition, side, columns) for side in (pair.left, pair.right))

    def at(us: str) -> str:
        return order(*(side.replace(NOW, definition.at_micros(us)) for side in (left, right)))

    first, last = at(f"CAST({low} AS BIGINT)"), at(f"CAST({high} AS BIGINT)")
    for holds in (partial(_left, at, first), partial(_reached, at, last)):
        us = bisected(definition, holds, low, high)
        yield f"SELECT {us} AS us FROM {rows} WHERE ({first}) <> ({last})"


def _left(at: Callable[[str], str], first: str, us: str) -> str:
    # sql: what `bisected` gives
    return f"({at(us)}) <> ({first})"


def _reached(at: Callable[[str], str], last: str, us: str) -> str:
    # sql: what `bisected` gives
    return f"({at(us)}) = ({last})"


def order(x: str, y: str) -> str:
    """SQL: -1, 0 or 1 as two values are in order; NULL where one of them is."""
    return f"CASE WHEN {x} < {y} THEN -1 WHEN {x} > {y} THEN 1 WHEN {x} = {y} THEN 0 END"


def over(definition: Definition, side: exp.Expr, columns: list[exp.Column]) -> str:
    """The text of one side, over the columns _c1, _c2, … and with ``NOW`` for the clock."""

    def replace(part: exp.Expr) -> exp.Expr:
        if timing.is_now(part):
            dates = isinstance(part, exp.CurrentDate) or part.name.lower() == "curdate"
            instant = exp.column(NOW)
            instant.type = exp.DataType.build("timestamptz")
            return exp.cast(instant, "date") if dates else instant
        if isinstance(part, exp.Column):
            column = exp.column(f"_c{columns.index(part) + 1}", table="_p")
            column.type = part.type
            return column
        return part

    tree = timing.wrapped(side).transform(replace, copy=False)
    return for_dialect(tree, definition.dialect).sql(definition.dialect)


def bisected(definition: Definition, holds: Callable[[str], str], low: int, high: int) -> str:
    """SQL: the least instant in ``(low, high]`` from which on ``holds(us)`` is true."""
    if definition.dialect == "duckdb":
        mid = "(_b.lo + (_b.hi - _b.lo) // 2)"
        step = (
            f"{{'lo': CASE WHEN {holds(mid)} THEN _b.lo ELSE {mid} END,"
            f" 'hi': CASE WHEN {holds(mid)} THEN {mid} ELSE _b.hi END}}"
        )
        start = f"{{'lo': CAST({low} AS BIGINT), 'hi': CAST({high} AS BIGINT)}}"
        rounds = f"list_transform(range({ROUNDS + 1}), lambda _n: {start})"
        return f"list_reduce({rounds}, lambda _b, _n: {step}).hi"
    mid = "(_b.lo + (_b.hi - _b.lo) div 2)"
    step = (
        f"named_struct('lo', CASE WHEN {holds(mid)} THEN _b.lo ELSE {mid} END,"
        f" 'hi', CASE WHEN {holds(mid)} THEN {mid} ELSE _b.hi END)"
    )
    start = f"named_struct('lo', {low}L, 'hi', {high}L)"
    return f"aggregate(sequence(1, {ROUNDS}), {start}, (_b, _n) -> {step}).hi"
