"""Compares a derived table with its query: rows that only one has, but for rounding.

Both are taken as bags. Two rows are the same where all values are equal, and those of type float
and double nearly so: to one part in 10^9, or to one part in 10^12 of the greatest value of the
column, for a sum that comes back to zero does so but for the digits that its summands have lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapestry.quoting import Sql, identifier, identifiers
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import FLOATING, canonical, keys, nearly_equal
from tapestry.sql.catalog import Column

NEARLY_OF_ALL = "1e-12D"
SHOWN = 300
"""So many characters of a row are told."""


_TOLD = ("keys", "missing", "surplus", "key", "in_table", "in_answer")


@dataclass(frozen=True)
class DriftedRows:
    """The number of rows that were compared, and of those that only one side has.

    keys
        How many keys have such a row; without a key how many rows the side with more of them has.
    key, in_table, in_answer
        One of these keys, and its rows as JSON; None: there is none.
    """

    looked_at: int = 0
    missing: int = 0
    surplus: int = 0
    keys: int = 0
    key: str | None = None
    in_table: str | None = None
    in_answer: str | None = None

    @property
    def told(self) -> dict[str, int | str | None]:
        """Return all values, for a log."""
        return {name: getattr(self, name) for name in _TOLD}

    @property
    def rows(self) -> int:
        """The number of wrong rows: one with other values than in the query counts once."""
        return max(self.missing, self.surplus)


@dataclass(frozen=True)
class Sides:
    """A table and the answer of its query, to be compared.

    answer, table
        SELECTs of the columns.
    left_out
        SELECTs of keys, each column as ``_k0, _k1, …``, that are left out.
    bucket
        The condition of the part that is compared; "": all of it.
    """

    columns: Sequence[Column]
    key: Sequence[str]
    answer: str
    table: str
    left_out: Sequence[str] = ()
    bucket: str = ""

    def find_differences(self, session: Session) -> DriftedRows:
        """Compare both sides in one statement."""
        ((looked, missing, surplus, keys, there, wanted),) = session.rows(self.statement())
        found = DriftedRows(
            int(looked), int(missing), int(surplus),
            int(keys if self.key else max(missing, surplus)),
        )  # fmt: skip
        if there is None and wanted is None:
            return found
        key = min(str(one[0]) for one in (there, wanted) if one is not None)
        rows = [None if one is None or one[0] != key else str(one[1]) for one in (there, wanted)]
        return replace(found, key=key, in_table=rows[0], in_answer=rows[1])

    def statement(self) -> str:
        """Return a query of the rows that only one side has, with an example of each side."""
        floats = [c for c in self.columns if c.type.lower() in FLOATING]
        others = [canonical(identifier(c.name), c.type) for c in self.columns if c not in floats]
        near = identifiers(c.name for c in floats) or "_tap_s"
        group = ", ".join(others) or "1"
        pair = Sql(f"OVER (PARTITION BY {group}, _tap_i)")
        agree = [
            nearly_equal(c.name, pair, f"{NEARLY_OF_ALL} * _tap_g{i}") for i, c in enumerate(floats)
        ]
        same = " AND ".join([f"count(*) {pair} = 2", *agree])
        scales = ", ".join(f"max({_finite(c.name)}) AS _tap_g{i}" for i, c in enumerate(floats))
        scale = f" CROSS JOIN (SELECT {scales} FROM _sides)" if floats else ""
        ranked = f"row_number() OVER (PARTITION BY {group}, _tap_s ORDER BY {near})"
        names = identifiers(c.name for c in self.columns)
        key = f"left(to_json(struct({identifiers(self.key) or names})), {SHOWN:d})"
        shown = f"min(struct({key}, left(to_json(struct({names})), {SHOWN:d})))"
        odd = "NOT _tap_same AND _tap_s"
        return (
            f"WITH _sides AS ({self.signed()}),\n"
            f"_ranked AS (SELECT *, {ranked} AS _tap_i FROM _sides),\n"
            f"_judged AS (SELECT *, {same} AS _tap_same FROM _ranked{scale})\n"
            f"SELECT count_if(_tap_s = 1), count_if({odd} = 1), count_if({odd} = -1),"
            f" count(DISTINCT IF(_tap_same, NULL, {key})), {shown} FILTER (WHERE {odd} = -1),"
            f" {shown} FILTER (WHERE {odd} = 1) FROM _judged"
        )

    def signed(self) -> str:
        """Return a SELECT of the compared rows of both sides, each with its sign."""
        names = identifiers(c.name for c in self.columns)
        where = f" WHERE {self.bucket}" if self.bucket else ""
        both = " UNION ALL ".join(
            f"SELECT {names}, {sign} AS _tap_s FROM ({side}\n){where}"
            for side, sign in ((self.answer, 1), (self.table, -1))
        )
        if not self.left_out:
            return both
        named = {column.name: column for column in self.columns}
        keyed: list[Column] = [named[name] for name in self.key]
        on = " AND ".join(f"{one} <=> l._k{i}" for i, one in enumerate(keys(keyed, "s")))
        gone = " UNION ALL ".join(f"SELECT * FROM ({one})" for one in self.left_out)
        return f"SELECT s.* FROM ({both}) AS s LEFT ANTI JOIN ({gone}) AS l ON {on}"


def _finite(name: str) -> str:
    column = identifier(name)
    return f"IF(abs({column}) < double('infinity'), abs({column}), NULL)"
