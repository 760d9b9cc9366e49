"""Renders one statement that measures the rows of all branches, and reads its result.

    SELECT _place, SUM(_bytes), MIN(_v1), MAX(_v1), ... FROM (
      SELECT 0 AS _place, <bytes> AS _bytes, r1.amount AS _v1, ... FROM r1 WHERE <of branch 1>
      UNION ALL SELECT 1, ...) GROUP BY _place

Values of one type share a column.  What is whole is measured as a BIGINT: days of a DATE and
microseconds of a TIMESTAMP, which no time zone changes.  A place without a row in the result has no
row at all; NULL says that all values are; NaN, which is the greatest, that there is no last one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.measured import ColumnEnds, Measured, NarrowedRows
from tapestry.sql.branches.selects import Reads
from tapestry.sql.catalog import Catalog
from tapestry.sql.infer.kinds import ValueKind
from tapestry.sql.planner.measure_narrowed import BYTES, BranchRows
from tapestry.sql.scan import Window
from tapestry.sql.write import build

PLACE = "_place"
_EPOCH = "1970-01-01"
_WHOLE = "bigint"
Ends = tuple[tuple[str, ValueKind], ...]


@dataclass(frozen=True)
class Measurement:
    """A statement that measures, for a window, the values that are ``asked`` for."""

    asked: tuple[BranchRows, ...]
    window: Window
    sql: str

    def read(self, rows: Iterable[Sequence[object]]) -> Measured:
        """Return the measured values in the statement's rows; wrong types are unknown values."""
        found = {int(str(row[0])): row for row in rows}
        columns = columns_of([one.ends for one in self.asked])
        ends: dict[NarrowedRows, tuple[ColumnEnds, ...]] = {}
        none = set()
        for place, one in enumerate(self.asked):
            if one.rows is None:
                continue
            if place not in found:
                none.add(one.rows)
                continue
            values = [exact(value) for value in found[place][2:]]
            spots = [columns.index(spot) for spot in spots_of(one.ends)]
            ends[one.rows] = tuple(
                ColumnEnds(name, values[2 * spot], values[2 * spot + 1])
                for (name, _), spot in zip(one.ends, spots, strict=True)
            )
        sizes = (int(str(row[1])) * self.asked[place].factor for place, row in found.items())
        size = max(sizes, default=0)
        return Measured(self.window, size, ends, frozenset(none))


def statement(
    asked: Sequence[BranchRows],
    used: set[tuple[str, str]],
    catalog: Catalog,
    reads: Reads,
    frame: Frame,
) -> exp.Select:
    """Return the SELECT of a ``Measurement``; ``used`` are the columns whose bytes count."""
    columns = columns_of([one.ends for one in asked])
    arms = []
    for place, one in enumerate(asked):
        of = dict(zip(spots_of(one.ends), one.ends, strict=True))
        listed: list[exp.Expr] = [exp.alias_(exp.Literal.number(place), PLACE)]
        for number, (kind, copy) in enumerate(columns, start=1):
            value: exp.Expr = exp.cast(exp.null(), kind)
            if (kind, copy) in of:
                value = _measured(one.tables[0].alias, *of[kind, copy])
            listed.append(exp.alias_(value, f"_v{number}"))
        arms.append(one.select(listed, used, catalog, (reads, frame)))
    wanted: list[exp.Expr] = [exp.column(PLACE), exp.Sum(this=exp.column(BYTES))]
    for number in range(1, len(columns) + 1):
        wanted += [exp.Min(this=exp.column(f"_v{number}")), exp.Max(this=exp.column(f"_v{number}"))]
    named = [exp.alias_(one, f"_c{number}") for number, one in enumerate(wanted)]
    every = build.subquery(build.union_all(arms), "_narrowed")
    select = build.add_from(build.select(named), every)
    select.set("group", exp.Group(expressions=[exp.column(PLACE)]))
    return select


Spot = tuple[str, int]
"""A type, and which of the columns of that type."""


def spots_of(ends: Ends) -> list[Spot]:
    """Return the places of some columns' values in a row: their type and a number."""
    seen: Counter[str] = Counter()
    spots = []
    for _, kind in ends:
        name = type_name(kind)
        spots.append((name, seen[name]))
        seen[name] += 1
    return spots


def columns_of(every: Iterable[Ends]) -> list[Spot]:
    """Return the columns that are measured: as many of a type as one place needs."""
    return list(dict.fromkeys(spot for ends in every for spot in spots_of(ends)))


def type_name(kind: ValueKind) -> str:
    """Return the type in which values of a kind are measured."""
    if kind.family == "decimal":
        return f"decimal({kind.precision},{kind.scale})"
    return "double" if kind.family == "double" else _WHOLE


def exact(value: object) -> int | Fraction | None:
    """Return a number exactly; None for a value that is no finite number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else None


def _measured(alias: str, name: str, kind: ValueKind) -> exp.Expr:
    column: exp.Expr = build.column(name, alias)
    if kind.family in ("decimal", "double"):
        return column
    if kind.family == "timestamp":
        column = exp.UnixMicros(this=column)
    elif kind.family == "date":
        begin = exp.cast(exp.Literal.string(_EPOCH), "date")
        column = exp.DateDiff(this=column, expression=begin)
    return exp.cast(column, _WHOLE)
