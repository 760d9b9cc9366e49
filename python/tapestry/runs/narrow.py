"""Is what a run narrows its sources to few enough to be sent to every task of a join?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapestry.runs.session import Session
from tapestry.sql import Rewriting, Scan, Window

SPARK_KNOWS = 10 * 2**20
"""Bytes of a table up to which Spark sends it to every task of its own accord."""
FEW = 1_000_000
"""So many rows of some hundred bytes fit into a driver of some gigabytes with room to spare."""


def few_rows(
    session: Session,
    rewriting: Rewriting,
    window: Window,
    scans: Mapping[str, Scan],
    sizes: Iterable[int],
) -> bool:
    """Count the rows of the largest range that the run narrows to, where that can matter.

    ``sizes`` are the bytes of the tables that the query reads. The count is pruned as the run
    itself is; where all tables are small it is not made.
    """
    if max(sizes, default=0) <= SPARK_KNOWS:
        return False
    count = rewriting.narrowed_rows(window, scans)
    if count is None:
        return False
    ((rows,),) = session.rows(count)
    return int(rows or 0) <= FEW
