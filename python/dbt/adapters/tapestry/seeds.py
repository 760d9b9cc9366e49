"""Renders a seed's rows as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.tapestry.seed_cells import Cell, SeedColumn
from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, authored, identifier, string
from tapestry.runs.engine.session import Session

BATCH = 5000


def seed_batches(
    columns: Sequence[SeedColumn], rows: Sequence[Sequence[Cell]], quote: bool = True
) -> list[str]:
    """Return SELECTs whose union is the seed: values as text, cast to the column's type.

    A seed without rows gives one SELECT without rows. Without `quote` (dbt's `quote_columns:
    false`) the names stand as they are in the file.
    """
    casts = [
        f"cast(c{place} as {authored(column.kind)})"
        f" as {identifier(column.name) if quote else authored(column.name)}"
        for place, column in enumerate(columns)
    ]
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    select = f"select {', '.join(casts)} from values"
    texts = [f"({', '.join(_text(cell) for cell in row)})" for row in rows]
    if not texts:
        nulls = ", ".join("cast(null as string)" for _ in columns)
        return [f"{select} ({nulls}) as seed({names}) where false"]
    return [
        f"{select}\n{','.join(texts[first : first + BATCH])}\nas seed({names})"
        for first in range(0, len(texts), BATCH)
    ]


def refused_by_spark(session: Session, kind: str, texts: Sequence[str]) -> frozenset[str]:
    """Return the texts that Spark cannot cast to a type, whatever the session's mode.

    Raises ConfigurationError for a type to which no text can be cast, or that does not exist.
    """
    found: set[str] = set()
    for first in range(0, len(texts), BATCH):
        rows = ", ".join(f"({string(text)})" for text in texts[first : first + BATCH])
        try:
            unfit = session.rows(
                f"SELECT c FROM VALUES {rows} AS cells(c)"
                f" WHERE try_cast(c AS {authored(kind)}) IS NULL"
            )
        except Exception as error:
            said = " ".join(str(error).split("JVM stacktrace")[0].split())
            raise ConfigurationError(
                f"column_types: Spark makes no {kind} of the text of a cell",
                where=said,
                hint="load it as a string, and let a model make the value (from_json, split …)",
            ) from error
        found |= {str(text) for (text,) in unfit}
    return frozenset(found)


def _text(cell: Cell) -> Sql:
    """Return a cell as SQL text that any cast understands; a column of NULLs stays castable."""
    return Sql("cast(null as string)") if cell is None else string(cell)
