"""Measured values of the rows to which a branch narrows its table (network, 1, kind 3).

Whatever is said here holds of the rows of one use of a source, in the window and over the scans of
one run, for which some conditions hold. So it is found by these conditions: what was measured of
other rows, of another branch, window or disjunct, is not at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from tapestry.sql.scan import Window


@dataclass(frozen=True)
class NarrowedRows:
    """The rows of a use of a source for which these conditions hold."""

    alias: str
    conditions: frozenset[exp.Expr]


@dataclass(frozen=True)
class ColumnEnds:
    """Bounds of a column: no non-NULL value lies below ``low`` or above ``high``.

    None: nobody knows of an end. Days since 1970 of a DATE, microseconds of a TIMESTAMP.
    """

    name: str
    low: int | Fraction | None
    high: int | Fraction | None


@dataclass(frozen=True)
class Measured:
    """The measured values of one window.

    size
        The bytes of the rows that a branch narrows a table to, at most.
    ends
        By rows, the ends of the columns that were asked of them.
    none
        Rows of which there are none.
    """

    window: Window
    size: int = 0
    ends: Mapping[NarrowedRows, tuple[ColumnEnds, ...]] = field(default_factory=dict)
    none: frozenset[NarrowedRows] = frozenset()

    def told(self) -> list[str]:
        """Return the results for a log: ``r1.amount from 5 to 7``; no conditions."""
        found = [f"{rows.alias} has no row" for rows in self.none]
        for rows, columns in self.ends.items():
            found += [f"{rows.alias}.{one.name} from {one.low} to {one.high}" for one in columns]
        return sorted(found)

    def __bool__(self) -> bool:
        """Return whether more than bytes was measured of any rows."""
        return bool(self.ends or self.none)
