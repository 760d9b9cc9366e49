"""The size of a Delta table, read from its log without reading data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapestry.report.read import DeltaFolder, SessionTables, Tables


@dataclass(frozen=True)
class TableSize:
    """Files and bytes of the newest version; ``rows`` is None where the log does not say."""

    files: int
    bytes: int
    rows: int | None = None


def sizes_of(tables: Callable[[str], Tables]) -> Callable[[str], TableSize | None]:
    """Return a function from names to sizes; ``tables`` gives those of a schema, once each."""
    opened: dict[str, Tables] = {}

    def size(name: str) -> TableSize | None:
        schema, _, table = name.rpartition(".")
        if schema not in opened:
            opened[schema] = tables(schema)
        return table_size(opened[schema], table)

    return size


def table_size(tables: Tables, table: str) -> TableSize | None:
    """The size of a table; None where it is not there, is no Delta table, or cannot be read."""
    try:
        if isinstance(tables, DeltaFolder):
            return _in_folder(tables, table)
        assert isinstance(tables, SessionTables)
        told = tables.size(table)
        return None if told is None else TableSize(*told)
    except Exception:
        if not tables.alive():
            raise
        return None


def _in_folder(tables: DeltaFolder, table: str) -> TableSize | None:
    files = tables.files(table)
    if files is None:
        return None
    known = [rows for _, rows in files if rows is not None]
    rows = sum(known) if len(known) == len(files) else None
    return TableSize(len(files), sum(size for size, _ in files), rows)
