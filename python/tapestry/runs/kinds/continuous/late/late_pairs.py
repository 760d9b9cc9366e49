"""Reads a stored join where rows of either source came late.

A content that ever came late is known by its kept table, with the arrival of each copy. So the
pairs are those of contents that never did; those of a left row that came late with any right one;
and those of a left row in time with a right one that came late.
"""

from __future__ import annotations

from dataclasses import replace

from tapestry.names import ARRIVAL, ROW_ID
from tapestry.quoting import identifier
from tapestry.runs.kinds.continuous.late.scans import SourceReading
from tapestry.runs.kinds.continuous.late.side import not_late
from tapestry.runs.memories.definition import (
    MemoryDefinition,
    MemorySide,
    arrival_beside,
    names_beside,
)
from tapestry.runs.memories.find import ids_of_pair
from tapestry.runs.sources.describe import arrival_sql
from tapestry.sql.scan import LEFT, RIGHT, JoinScan


def scan_with_late(
    wanted: MemoryDefinition,
    relation: str,
    rows: tuple[str, str],
    readings: tuple[SourceReading, SourceReading],
) -> JoinScan:
    """Return the scan of a stored join; ``rows`` are those of each side's own memory."""
    timely, late, known = [], [], []
    for (prefix, side), own, reading in zip(wanted.placed, rows, readings, strict=True):
        arms = reading.arms_by_time(replace(side.table, remembered=own))
        in_time, behind = (_named(prefix, side, arm) if arm else "" for arm in arms)
        timely.append(in_time)
        late.append(behind)
        known.append(not_late(side.table.columns, reading.side, prefix))
    first, second = (
        f"{arrival_sql(arrival_beside(*one), '_tap_s')} AS {one[0]}{ARRIVAL}"
        for one in wanted.placed
    )
    pairs = [
        f"SELECT {wanted.copied}, {first}, {second} FROM {relation} AS _tap_s"
        f" WHERE {' AND '.join(known)}"
    ]
    if late[0]:
        right = f"{timely[1]} UNION ALL {late[1]}" if late[1] else timely[1]
        pairs.append(_pairs_with_arrivals(wanted, late[0], right))
    if late[1]:
        pairs.append(_pairs_with_arrivals(wanted, timely[0], late[1]))
    arrivals = f"{LEFT}{ARRIVAL}", f"{RIGHT}{ARRIVAL}"
    return JoinScan(f"({' UNION ALL '.join(pairs)})", arrivals, ids_of_pair())


def _named(prefix: str, side: MemorySide, arm: str) -> str:
    """Return the rows of an arm (``SourceReading.arms_by_time``) under the join's column names."""
    names = [*(identifier(column.name) for column in side.table.columns), ROW_ID]
    flat = [identifier(name) for name in names_beside(prefix, side)]
    own = ", ".join(f"{name} AS {one}" for name, one in zip(names, flat, strict=True))
    return f"SELECT {own}, {ARRIVAL} AS {prefix}{ARRIVAL} FROM ({arm})"


def _pairs_with_arrivals(wanted: MemoryDefinition, left: str, right: str) -> str:
    return (
        f"SELECT {wanted.copied}, {LEFT}{ARRIVAL}, {RIGHT}{ARRIVAL}"
        f" FROM ({left}) CROSS JOIN ({right}) WHERE {wanted.where}"
    )
