"""The cost of a scan of the next run, as Spark plans it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.preview import Preview

_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_RELATION = re.compile(r"Relation [^\n]*Statistics\(sizeInBytes=([\d.]+) (\w+)")


@dataclass(frozen=True)
class Cost:
    """The data that a scan reads after file statistics have excluded files.

    files
        None where the connection does not tell (thrift).
    """

    size: int
    files: int | None


def cost(session: Session, preview: Preview, source: str, predicate: str) -> Cost:
    """Return the present cost of reading a source's rows that satisfy a predicate ('': all).

    Spark plans the scan and reads no data: Delta puts the size of the remaining files into the
    plan's statistics.
    """
    scan, pinned = preview.scans[source], preview.query.relations.tables[source]
    relation = scan.relation if scan.late else pinned.table.at(pinned.pin.version)
    sql = f"SELECT * FROM {relation}" + (f" WHERE {predicate}" if predicate else "")
    ((plan, *_),) = session.rows(f"EXPLAIN COST {sql}")
    return Cost(size_in(str(plan)), session.can.input_files(sql))


def size_in(plan: str) -> int:
    """Return the bytes that the optimized plan of an EXPLAIN COST reads.

    >>> size_in("Filter …\\n+- Relation db.m[id#1] parquet, Statistics(sizeInBytes=33.5 KiB)\\n")
    34304
    """
    optimized = plan.partition("== Physical Plan ==")[0]
    found = _RELATION.findall(optimized)
    return sum(int(float(number) * _SIZES.get(unit, 1)) for number, unit in found)
