"""Makes the scan that a query reads from a pin, and the ids by which rows are told apart."""

from __future__ import annotations

from tapestry.names import ENDED, ROW_ID
from tapestry.runs.sources.contents import column_list, content_hash, keys
from tapestry.runs.sources.describe import REMEMBERED_ID, DeltaSource, arrival_sql
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column
from tapestry.sql.scan import Scan

NEVER = "TIMESTAMP '9999-12-31 00:00:00'"
"""The end of a row that is there."""


def plain_scan(table: DeltaSource, pin: Pin, arrival: Column | None, ends: bool = False) -> Scan:
    """Return the scan of a source without late rows; ``ends``: it has the column ``_ended``."""
    arr = None if arrival is None else arrival_sql(arrival)
    at = table.at(pin.version)
    if table.commits is not None:
        ended = f", {NEVER} AS {ENDED}" if ends else ""
        names = column_list(table.columns)
        relation = f"(SELECT {names}, {row_id(table)} AS {ROW_ID}{ended} FROM {at})"
        return Scan(relation, arr, ROW_ID, size=table.size)
    if ends:
        relation = f"(SELECT *, {row_id(table)} AS {ROW_ID}, {NEVER} AS {ENDED} FROM {at})"
        return Scan(relation, arr, ROW_ID, size=table.size)
    if table.row_tracking:
        return Scan(at, arr, row_id(table), size=table.size)
    # The window function of the row id is in the inner query, and the arrival in the outer one.
    # Otherwise ts would have another name than the column of PARTITION BY, and Spark would not push
    # a bound on it below the window function.
    relation = f"(SELECT *, {row_id(table)} AS {ROW_ID} FROM {at})"
    return Scan(relation, arr, ROW_ID, size=table.size)


def row_id(table: DeltaSource, alias: str = "", first: str = "") -> str:
    """Return SQL that tells every row of one version from every other, as a string.

    Row tracking has an id. Without it Delta shows no position in a file, so the content is the id
    (128 bits of hash), and equal rows are numbered: which of them gets which number cannot be seen.
    The window is over all columns, so that any predicate passes through it to the files, and Spark
    drops it where no query uses the id. ``first``: the order in which equal rows are numbered
    before anything else.
    """
    prefix = f"{alias}." if alias else ""
    if table.row_tracking and table.remembered:
        return f"{prefix}{REMEMBERED_ID}"
    if table.row_tracking:
        return f"CAST({prefix}_metadata.row_id AS STRING)"
    parts = keys(table.columns, alias)
    content = ", ".join(parts)
    # -0.0 and 0.0 are one content to a window but two rows to a reader: numbered by their text.
    floats = [
        f"CAST({part} AS STRING)"
        for part, column in zip(parts, table.columns, strict=True)
        if "float" in column.type or "double" in column.type
    ]
    by = ", ".join([first, *floats] if first else floats) or parts[0]
    return (
        f"concat_ws('-', {content_hash(table.columns, alias)},"
        f" CAST(row_number() OVER (PARTITION BY {content} ORDER BY {by}) AS STRING))"
    )
