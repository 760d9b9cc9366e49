"""Checks the contents of a kept table against what a run can have written there.

Rows of no run's batch are ignored. One that claims to be of this generation, and that no run has
written, would give a late row another arrival or none: its model stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapestry.errors import StateUnreadable
from tapestry.names import ARRIVAL, ROW_ID
from tapestry.runs.engine.odd_rows import Fields, Odd, OddRow, read_row
from tapestry.runs.sources.describe import LATE
from tapestry.sql.catalog import Column

FIELDS = ("generation", "n", "version", "batch", "ends", "ended")
BATCH = f"{LATE}.batch, {LATE}.generation, {LATE}.n, {LATE}.version"
"""The fields that identify a batch."""
LACKING = f"({LATE}.ended IS NULL AND ({ARRIVAL} IS NULL OR {ROW_ID} IS NULL))"
"""The condition that a copy in force lacks what it stands there for."""
_NAMES = ("batch", "generation", "n", "version")


def check_columns(table: str, columns: Sequence[Column]) -> None:
    """Raise StateUnreadable for a table that is not the kept table that runs made."""
    kinds = {column.name.lower(): column.type for column in columns}
    wrong = [f"has no column {name}" for name in (LATE, ARRIVAL, ROW_ID) if name not in kinds]
    if not wrong and kinds[ARRIVAL] != "timestamp":
        wrong.append(f"has a {ARRIVAL} of {kinds[ARRIVAL]}")
    if not wrong and not all(f"{name}:" in kinds[LATE] for name in FIELDS):
        wrong.append(f"has a {LATE} of {kinds[LATE]}")
    if wrong:
        raise StateUnreadable(
            f"{table} is not the table of late rows that runs made: it {wrong[0]}",
            hint="bring it back as it was (its DESCRIBE HISTORY tells who changed it), or build the"
            " model again with --full-refresh",
        )


def own_batches(
    table: str, generation: str, batches: Iterable[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Return the batches that can be some run's, each as (batch, generation, n, version, ...).

    ``batches`` have, after these four, whether any row in them lacks something; the result is
    without it. Raises StateUnreadable for one of this generation that no run has written.
    """
    found: list[tuple[Any, ...]] = []
    whose: dict[str, tuple[Any, ...]] = {}
    for batch in batches:
        named, lacking, rest = batch[:4], batch[4], batch[5:]
        values = {**dict(zip(_NAMES, named, strict=True)), "lacking": lacking}
        read = read_row(table, _NAMES[:3], values, _parse)
        if isinstance(read, OddRow):
            if named[1] == generation:
                raise _odd(read)
            continue
        if named[1] == generation and whose.setdefault(read[0], read) != read:
            raise _odd(OddRow(table, (("batch", read[0]),), "rows of one batch are of two runs"))
        found.append((*read, *rest))
    return found


def _parse(fields: Fields) -> tuple[str, str, int, int]:
    batch = fields.text("batch"), fields.text("generation")
    numbers = fields.whole("n", 1), fields.whole("version")
    if fields.whole("lacking", 0, 1):
        raise Odd(f"a row in it has no {ARRIVAL}, or no {ROW_ID}")
    return (*batch, *numbers)


def _odd(row: OddRow) -> StateUnreadable:
    return StateUnreadable(
        f"late rows cannot be read: {row.reason}",
        where=f"{row.where} (fields of {LATE})",
        hint="put those rows right or delete them (the table's DESCRIBE HISTORY tells who wrote"
        " them), or build the model again with --full-refresh",
    )
