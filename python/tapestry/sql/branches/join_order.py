"""Orders the tables of a query's joins: by the author's wish, or by their sizes.

An order changes no answer.  Sizes are exponents of two: an estimate is no better than that, and a
statement that was rendered once serves all runs whose tables are about as large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import ConfigurationError
from tapestry.instants import micros
from tapestry.sql.arms import OuterArm
from tapestry.sql.facts.walk import all_tables, tables_of
from tapestry.sql.ir import SourceTable, Table
from tapestry.sql.scan import Scan, Window

FEW = 2
"""The maximum number of tables that have but one order, given that one of them is narrowed."""


@dataclass(frozen=True)
class Extent:
    """The size of a table, as exponents of two; 0 if unknown.

    size
        Of its bytes.
    span
        Of the microseconds from the first arrival to the end of the window.
    """

    size: int
    span: int = 0


@dataclass(frozen=True)
class JoinOrder:
    """The wishes and sizes that decide which table is joined next.

    named
        Aliases as the author wrote them, in lower case (``join_order``).
    extents
        Of the tables whose size is known, by alias.
    window
        The exponent of the window's length in microseconds.
    """

    named: tuple[str, ...] = ()
    extents: tuple[tuple[str, Extent], ...] = ()
    window: int = 0

    def first(self, tables: Iterable[Table]) -> list[Table]:
        """Return the tables that the author names, in the author's order."""
        mine = [table for table in tables if written(table) in self.named]
        return sorted(mine, key=lambda table: self.named.index(written(table)))

    def left(self, table: Table, back: int | None) -> int | None:
        """Return the exponent of the bytes that are read of a table; None if unknown.

        ``back``: no row of it is read that lies by more microseconds before the window.
        """
        extent = self._extent(table)
        if extent is None or back is None or not (extent.span and self.window):
            return None if extent is None else extent.size
        within = (max(0, back) + (1 << self.window)).bit_length()
        return extent.size + min(0, within - extent.span)

    def _extent(self, table: Table) -> Extent | None:
        """Return the extent of a table; for one by value, that of its largest source."""
        known = dict(self.extents)
        if isinstance(table, SourceTable):
            return known.get(table.alias)
        each = [one for block in table.universe for one in block.disjuncts]
        found = [known[one.alias].size for c in each for one in tables_of(c) if one.alias in known]
        return Extent(max(found)) if found else None

    def over(self, window: Window, scans: Mapping[str, Scan]) -> JoinOrder:
        """Return the join order for a window, with the sizes in the scans of the aliases."""
        extents = tuple(
            (alias, Extent(scan.size.bit_length(), _exponent(scan.since, window.t)))
            for alias, scan in sorted(scans.items())
            if scan.size
        )
        return replace(self, extents=extents, window=_exponent(window.tau, window.t))


NOT_KNOWN = JoinOrder()


def join_order(arms: Iterable[OuterArm], names: Sequence[str]) -> JoinOrder:
    """The order that the author of a query wants; tables that are not named follow.

    Raises ConfigurationError for a name that no table of the query has.
    """
    known = sorted({written(table) for table in all_tables(arms)})
    for name in names:
        if name.lower() not in known:
            raise ConfigurationError(
                f"join_order: {name} is no table of the query",
                hint=f"those are, by their aliases in FROM: {', '.join(known)}",
            )
    return JoinOrder(tuple(dict.fromkeys(name.lower() for name in names)))


def written(table: Table) -> str:
    """The alias of a table as its author wrote it, in lower case."""
    return (table.written if isinstance(table, SourceTable) else table.alias).lower()


def _exponent(begin: datetime | None, end: datetime) -> int:
    """Return the exponent of the microseconds between two instants; 0 if one is missing."""
    return 0 if begin is None else max(0, micros(end) - micros(begin)).bit_length()
