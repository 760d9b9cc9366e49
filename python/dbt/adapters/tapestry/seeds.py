"""A seed's rows as SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapestry.quoting import authored, identifier, string

if TYPE_CHECKING:
    import agate

BATCH = 5000


def seed_batches(table: agate.Table, types: Sequence[str], quote: bool = True) -> list[str]:
    """SELECTs whose union is the seed: values as text, cast to the column's type once a column.

    A seed without rows gives one SELECT without rows. Without `quote` (dbt's `quote_columns:
    false`) the names stand as they are in the file.
    """
    columns = [
        f"cast(c{place} as {authored(type_)}) as {identifier(name) if quote else authored(name)}"
        for place, (name, type_) in enumerate(zip(table.column_names, types, strict=True))
    ]
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    select = f"select {', '.join(columns)} from values"
    rows = [f"({', '.join(_text(value) for value in row)})" for row in table.rows]
    if not rows:
        nulls = ", ".join("cast(null as string)" for _ in columns)
        return [f"{select} ({nulls}) as seed({names}) where false"]
    return [
        f"{select}\n{','.join(rows[first : first + BATCH])}\nas seed({names})"
        for first in range(0, len(rows), BATCH)
    ]


def _text(value: Any) -> str:
    """A value as SQL text that any cast understands; a column of NULLs stays castable."""
    if value is None:
        return "cast(null as string)"
    if isinstance(value, bool):
        return string(str(value).lower())
    if isinstance(value, dt.datetime):
        return string(value.isoformat(sep=" "))
    return string(str(value))
