"""Treats rows that differ by rounding alone as one row, which keeps its former values.

A sum of DOUBLEs is added up in no fixed order, so a group that is computed again may come out with
another last digit. A row that goes and one that comes are the same where they are equal but for
such columns, and where these agree to one part in 10^9.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.quoting import Sql, identifier, identifiers
from tapestry.sql.catalog import Column

NEARLY = "1e-9D"
NUMBERS = ("float", "double")


def but_for_rounding(
    change: str, delta: Sql, columns: Sequence[Column], unsteady: frozenset[str]
) -> str:
    """Return a change without rows that come back with other last digits; "": all of it.

    ``delta``: the number of copies by which each row, which stands there once, is more.
    """
    near = [c.name for c in columns if c.name in unsteady and c.type.lower() in NUMBERS]
    if not near:
        return ""
    names = identifiers(column.name for column in columns)
    others = [identifier(column.name) for column in columns if column.name not in near]
    group = ", ".join([*others, f"abs({delta})"])
    pair = Sql(f"OVER (PARTITION BY {group}, _tap_i)")
    agree = " AND ".join(_agree(name, pair) for name in near)
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {group}, {delta} ORDER BY {identifiers(near)})"
        f" AS _tap_i FROM {change}"
    )
    paired = f"SELECT *, (count(*) {pair} = 2 AND {agree}) AS _tap_same FROM ({ranked})"
    return f"SELECT {names}, {delta} FROM ({paired}) WHERE NOT _tap_same"


def _agree(name: str, pair: Sql) -> str:
    """Return SQL: whether both values of a pair are NULL, equal, or finite and nearly equal."""
    column = identifier(name)
    low, high, many = (f"{one}({column}) {pair}" for one in ("min", "max", "count"))
    near = f"{high} - {low} <= {NEARLY} * greatest(abs({low}), abs({high}))"
    finite = f"{high} < double('infinity') AND {low} > double('-infinity')"
    return f"({many} = 0 OR ({many} = 2 AND ({low} <=> {high} OR ({finite} AND {near}))))"
