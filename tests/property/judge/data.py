"""Random tables on the grid, with NULLs, ties, duplicates, late rows and rows off the grid."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from judge.schema import ARRIVAL, BASE, TABLES

MICRO = timedelta(microseconds=1)
STEP = timedelta(hours=6)
OFF_GRID = timedelta(milliseconds=500)
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Data:
    """Rows of every table: its columns, then the effective arrival, then the row id.

    ``ended``: (table, row id) -> the instant from which on the row is gone.
    """

    rows: dict[str, tuple[Row, ...]]
    late: bool = False
    off_grid: bool = False
    ended: dict[tuple[str, int], datetime] = field(default_factory=dict)

    def ends(self, table: str) -> list[datetime | None]:
        """When each row of a table ends, if ever."""
        return [self.ended.get((table, row[-1])) for row in self.rows[table]]

    def without(self, table: str, index: int) -> Data:
        """The same without one row."""
        kept = self.rows[table][:index] + self.rows[table][index + 1 :]
        return replace(self, rows={**self.rows, table: kept})

    def arrivals(self, table: str) -> list[datetime]:
        """The effective arrivals of a table's rows."""
        return [row[-2] for row in self.rows[table] if row[-2] is not None]


def random_data(rng: random.Random) -> Data:
    """Random rows for every table."""
    late, off_grid = rng.random() < 0.4, rng.random() < 0.12
    rows = {}
    for table in TABLES:
        size = rng.choices(range(9), (1, 2, 5, 9, 11, 11, 9, 7, 5))[0]
        found: list[Row] = []
        for _ in range(size):
            if found and rng.random() < 0.15:
                row = rng.choice(found)
            else:
                row = tuple(_value(rng, type_, off_grid) for type_ in TABLES[table].values())
            found.append(row)
        rows[table] = tuple(
            (*row, _arrival(rng, table, row, late), n) for n, row in enumerate(found, 1)
        )
    return Data(rows, late, off_grid)


def _value(rng: random.Random, type_: str, off_grid: bool) -> int | str | date | datetime | None:
    if rng.random() < 0.08:
        return None
    if type_ == "int":
        return rng.choice((1, 1, 1, 1, 1, 2, 2, 2, 3, 0, -1))
    if type_ == "text":
        return rng.choice(("a", "a", "b", ""))
    if type_ == "date":
        return (BASE + timedelta(days=rng.randint(0, 3))).date()
    moment = BASE + STEP * rng.randint(0, 9)
    if off_grid and rng.random() < 0.3:
        moment += rng.choice((OFF_GRID, MICRO))
    return moment


def _arrival(rng: random.Random, table: str, row: Row, late: bool) -> datetime | None:
    column = ARRIVAL[table]
    if column is None:
        return None
    moment: datetime | None = row[list(TABLES[table]).index(column)]
    if moment is None or not late or rng.random() < 0.6:
        return moment
    return moment + STEP * rng.randint(0, 5) + rng.choice((MICRO, timedelta(0)))
