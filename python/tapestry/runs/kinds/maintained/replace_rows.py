"""From what changes in the table to the statement that writes it: one commit.

    very few rows change   they are named with their values
    few rows change        the rows that have the hash of one that changes are replaced by those
                           that the new version has with such a hash
    rows come in only      they are added
    many change            all rows are replaced

Exact, whatever hashes collide: rows of the table with such a hash are read from the table and
counted together with the change; the same ones go out, and those come in whose count is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapestry.quoting import identifiers, string
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.table_change import DELTA, TableChange, row_hash
from tapestry.runs.protocol.writing import Appending, Remaking, Replacing
from tapestry.runs.tables.state_row import StateRow

_ODD = "the table is not what its last run wrote: a row that is to go is not there"


@dataclass(frozen=True)
class Replacement:
    """``select`` gives the rows that come in.

    ``instead_of`` holds for those that go out; None: none does. ``named``: ``select`` does not read
    the table. ``rejected``: all rows that are kept out of the table from now on; None: those that
    were. ``select`` gives those that come to be kept out, too.
    """

    select: str
    instead_of: str | None
    named: bool = False
    rejected: str | None = None

    def staying(self, table: str) -> str:
        """The rows of ``table`` that stay, as behind FROM."""
        if self.instead_of is None:
            return table
        return f"{table} WHERE NOT coalesce({self.instead_of}, false)"

    def writing(self, row: StateRow, columns: tuple[str, ...]) -> Appending:
        """How they are written."""
        if self.instead_of is None:
            return Appending(row, columns)
        made = Replacing if self.named else Remaking
        return made(row, columns, self.instead_of)


def replacement(
    query: MaintainedQuery, table: str, rejected: str, change: TableChange
) -> Replacement:
    """The rows that a change of a table takes, and those that it gives up.

    ``table`` and the ``rejected`` rows of before as they stand behind FROM.
    """
    made = _of_table(query, table, change)
    if not change.kept_out:
        return made
    names = identifiers(query.names)
    changed = f"SELECT {names}, {DELTA} FROM {change.kept_out}"
    come = _copies(
        f"SELECT {names}, {DELTA} AS _tap_n FROM ({changed}) WHERE {DELTA} > 0", query.names
    )
    if rejected:
        changed += f" UNION ALL SELECT {names}, 1 FROM {rejected}"
    counted = f"SELECT {names}, sum({DELTA}) AS _tap_n FROM ({changed}) GROUP BY {names}"
    both = f"SELECT {names} FROM ({made.select}) UNION ALL SELECT {names} FROM ({come})"
    return replace(made, select=both, rejected=_copies(counted, query.names))


def _of_table(query: MaintainedQuery, table: str, change: TableChange) -> Replacement:
    """The same, of the rows that the table takes."""
    if change.few is not None:
        return Replacement(change.few.select, change.few.instead_of or None, named=True)
    if change.deleted or change.updated:
        return replaced(query, table, change)
    return appended(query, change)


def appended(query: MaintainedQuery, change: TableChange) -> Replacement:
    """Rows come in only."""
    names = identifiers(query.names)
    copies = _copies(f"SELECT {names}, {DELTA} AS _tap_n FROM {change.relation}", query.names)
    return Replacement(copies, None)


def replaced(query: MaintainedQuery, table: str, change: TableChange) -> Replacement:
    """Rows go out, too."""
    names, hashed = identifiers(query.names), row_hash(query.names)
    where, instead_of = "", "true"
    if change.hashes is not None:
        where = f" WHERE {hashed} IN (SELECT {hashed} FROM {change.relation})"
        instead_of = f"{hashed} IN ({', '.join(f'{one:d}L' for one in change.hashes)})"
    counted = (
        f"SELECT {names}, sum({DELTA}) AS _tap_n FROM (SELECT {names}, 1 AS {DELTA} FROM {table}"
        f"{where} UNION ALL SELECT {names}, {DELTA} FROM {change.relation}) GROUP BY {names}"
    )
    return Replacement(_copies(counted, query.names), instead_of)


def _copies(counted: str, columns: Sequence[str]) -> str:
    """Each row as often as ``_tap_n`` says."""
    names = identifiers(columns)
    times = f"IF(_tap_n < 0, CAST(raise_error({string(_ODD)}) AS INT), CAST(_tap_n AS INT))"
    return (
        f"SELECT {names} FROM (SELECT {names}, explode(array_repeat(0, {times})) AS _tap_c"
        f" FROM ({counted}))"
    )
