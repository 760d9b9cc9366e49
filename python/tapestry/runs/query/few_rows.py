"""Is what a run narrows its sources to few enough to be sent to every task of a join?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapestry.runs.engine.session import Session
from tapestry.sql import Rewriting, Scan, Window

SPARK_KNOWS = 10 * 2**20
"""Bytes of a table up to which Spark sends it to every task of its own accord."""
FEW = 256 * 2**20
"""So many bytes of rows fit into a driver of some gigabytes with room to spare, also twice."""


def few_rows(
    session: Session,
    rewriting: Rewriting,
    window: Window,
    scans: Mapping[str, Scan],
    sizes: Iterable[int],
) -> bool:
    """Measure the rows of the largest range that the run narrows to, where that can matter.

    ``sizes`` are the bytes of the tables that the query reads. The measuring is pruned as the run
    itself is; where all tables are small it is not done.
    """
    if max(sizes, default=0) <= SPARK_KNOWS:
        return False
    measure = rewriting.narrowed_bytes(window, scans)
    if measure is None:
        return False
    ((size,),) = session.rows(measure)
    return int(size or 0) <= FEW
