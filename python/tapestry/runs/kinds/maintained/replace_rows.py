"""Makes the statement that writes the changes of a table, in one commit.

    very few rows change   they are named with their values
    few rows change        the rows that have the hash of one that changes are replaced by those
                           that the new version has with such a hash
    rows come in only      they are added
    many change            all rows are replaced

Exact, whatever hashes collide: rows of the table with such a hash are read from the table and
counted together with the change; the same ones go out, and those with a remaining count come in. Of
equal rows those stay that were written first, with the columns that say when a row was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.quoting import identifier, identifiers, string
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.table_change import DELTA, Comparing, TableChange, row_hash
from tapestry.runs.protocol.writing import Appending, Remaking, Replacing
from tapestry.runs.tables.state_row import StateRow

_ODD = "the table is not what its last run wrote: a row that is to go is not there"


@dataclass(frozen=True)
class Replacement:
    """Rows to be replaced; ``select`` gives the rows that come in.

    ``instead_of`` holds for those that go out; None: none does. ``named``: ``select`` does not read
    the table. ``rejected``: all rows that are kept out of the table from now on; None: those that
    were. ``select`` also gives the rows that are newly kept out.
    """

    select: str
    instead_of: str | None
    named: bool = False
    rejected: str | None = None

    def staying(self, table: str) -> str:
        """Return the rows of ``table`` that stay, as they stand behind FROM."""
        if self.instead_of is None:
            return table
        return f"{table} WHERE NOT coalesce({self.instead_of}, false)"

    def writing(self, row: StateRow, columns: tuple[str, ...]) -> Appending:
        """Return the way in which they are written."""
        if self.instead_of is None:
            return Appending(row, columns)
        made = Replacing if self.named else Remaking
        return made(row, columns, self.instead_of)


def replacement(comparing: Comparing, change: TableChange) -> Replacement:
    """Return the rows that a change adds to a table, and those that it removes."""
    query, t, rejected = comparing.query, comparing.t, comparing.rejected
    made = _of_table(query, comparing.table, change, t)
    if not change.kept_out:
        return made
    names, written = identifiers(query.names), identifiers(query.written)
    changed = f"SELECT {names}, {DELTA} FROM {change.kept_out}"
    come = _come(query, changed, t)
    both = f"SELECT {written} FROM ({made.select}) UNION ALL SELECT {written} FROM ({come})"
    there = f"SELECT {written} FROM {rejected}" if rejected else ""
    stay = _counted_together(query, there, changed, t) if rejected else come
    return replace(made, select=both, rejected=stay)


def _of_table(query: MaintainedQuery, table: str, change: TableChange, t: datetime) -> Replacement:
    """Return the replacement of rows that are not kept out."""
    if change.few is not None:
        select = query.stamped(change.few.select, t)
        return Replacement(select, change.few.instead_of or None, named=True)
    changed = f"SELECT {identifiers(query.names)}, {DELTA} FROM {change.relation}"
    if not (change.deleted or change.updated):
        return Replacement(_come(query, changed, t), None)
    hashed, where, instead_of = row_hash(query.names), "", "true"
    if change.hashes is not None:
        where = f" WHERE {hashed} IN (SELECT {hashed} FROM {change.relation})"
        instead_of = f"{hashed} IN ({', '.join(f'{one:d}L' for one in change.hashes)})"
    there = f"SELECT {identifiers(query.written)} FROM {table}{where}"
    return Replacement(_counted_together(query, there, changed, t), instead_of)


def _come(query: MaintainedQuery, changed: str, t: datetime) -> str:
    """Return the copies that come in, as a run at t writes them."""
    names = identifiers(query.names)
    more = f"SELECT {names}, {DELTA} AS _tap_n FROM ({changed}) WHERE {DELTA} > 0"
    return query.stamped(_copies(more, query.names), t)


def _counted_together(query: MaintainedQuery, there: str, changed: str, t: datetime) -> str:
    """Return the rows of ``there`` after a change: unchanged ones, and those that come in."""
    names = identifiers(query.names)
    if not query.stamps:
        counted = (
            f"SELECT {names}, sum({DELTA}) AS _tap_n FROM (SELECT {names}, 1 AS {DELTA} FROM"
            f" ({there}) UNION ALL {changed}) GROUP BY {names}"
        )
        return _copies(counted, query.names)
    written, stamps = identifiers(query.written), identifiers(query.stamp_names)
    none = ", ".join(f"NULL AS {identifier(name)}" for name in query.stamp_names)
    together = (
        f"SELECT {names}, {stamps}, 0 AS {DELTA}, true AS _tap_there FROM ({there})"
        f" UNION ALL SELECT {names}, {none}, {DELTA}, false FROM ({changed})"
    )
    counted = (
        f"SELECT *, count_if(_tap_there) OVER (PARTITION BY {names}) AS _tap_was,"
        f" sum({DELTA}) OVER (PARTITION BY {names}) AS _tap_more,"
        f" row_number() OVER (PARTITION BY {names}, _tap_there ORDER BY {stamps}) AS _tap_i"
        f" FROM ({together})"
    )
    stay = (
        f"SELECT {written} FROM ({counted}) WHERE IF(_tap_was + _tap_more < 0,"
        f" CAST(raise_error({string(_ODD)}) AS BOOLEAN),"
        " _tap_there AND _tap_i <= _tap_was + least(_tap_more, 0))"
    )
    return f"{stay} UNION ALL SELECT {written} FROM ({_come(query, changed, t)})"


def _copies(counted: str, columns: Sequence[str]) -> str:
    """Return a SELECT that repeats each row ``_tap_n`` times."""
    names = identifiers(columns)
    times = f"IF(_tap_n < 0, CAST(raise_error({string(_ODD)}) AS INT), CAST(_tap_n AS INT))"
    return (
        f"SELECT {names} FROM (SELECT {names}, explode(array_repeat(0, {times})) AS _tap_c"
        f" FROM ({counted}))"
    )
