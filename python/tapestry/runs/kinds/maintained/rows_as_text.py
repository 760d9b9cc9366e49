"""Few rows as texts, for a state row or a statement; the same rows can be made from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tapestry.quoting import Sql, identifier, string
from tapestry.runs.engine.column_types import sql_type

EXACT = (
    "boolean", "tinyint", "smallint", "int", "bigint", "string", "date", "timestamp",
)  # fmt: skip
"""Types whose values a text tells exactly, besides DECIMAL; not strings of another collation."""

Texts = Sequence[str | None]
_NO_CHARACTER = "\ufffd"


def is_exact(kind: str) -> bool:
    """Return whether a text tells the values of a type exactly."""
    return kind.lower() in EXACT or kind.lower().startswith("decimal(")


def are_exact(row: Texts, longest: int | None = None) -> bool:
    """Return whether these texts reached the driver unharmed, and none is too long.

    Bytes that are no UTF-8, which Spark's strings may hold, come as U+FFFD.
    """
    texts = [text for text in row if text is not None]
    long = longest is not None and any(len(text) > longest for text in texts)
    return not long and not any(_NO_CHARACTER in text for text in texts)


def as_text(name: str, kind: str) -> Sql:
    """Return a column's value as such a text; a timestamp by its microseconds."""
    column = identifier(name)
    value = f"unix_micros({column})" if kind.lower() == "timestamp" else column
    return Sql(f"CAST({value} AS STRING)")


def of_text(value: Sql, kind: str) -> Sql:
    """Return the value that a text stands for."""
    if kind.lower() == "timestamp":
        return Sql(f"timestamp_micros(CAST({value} AS BIGINT))")
    return Sql(f"CAST({value} AS {sql_type(kind)})")


def select_of(columns: Sequence[tuple[str, str]], rows: Iterable[Texts]) -> Sql:
    """Return a SELECT of these rows, of columns with these names and types."""
    places = [f"_{number}" for number, _ in enumerate(columns)]
    listed = json.dumps([dict(zip(places, row, strict=True)) for row in rows])
    schema = ", ".join(f"{place}: STRING" for place in places)
    pairs = zip(places, columns, strict=True)
    items = ", ".join(
        f"{of_text(Sql(place), kind)} AS {identifier(name)}" for place, (name, kind) in pairs
    )
    return Sql(
        f"SELECT {items} FROM (SELECT inline(from_json({string(listed)},"
        f" {string(f'ARRAY<STRUCT<{schema}>>')})))"
    )


def literal(text: str | None, kind: str) -> Sql:
    """Return the value of a text as a literal."""
    return of_text(Sql("NULL") if text is None else string(text), kind)
