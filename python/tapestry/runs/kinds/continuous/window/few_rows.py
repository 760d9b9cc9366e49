"""What a run measures first: how few the rows are that it narrows its sources to, and which."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tapestry.runs.engine.session import Session
from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.branches.measured import Measured

logger = logging.getLogger(__name__)
SPARK_KNOWS = 10 * 2**20
"""Bytes of a table up to which Spark sends it to every task of its own accord."""
FEW = 256 * 2**20
"""So many bytes of rows fit into a driver of some gigabytes with room to spare, also twice."""


@dataclass(frozen=True)
class FewRows:
    """Are the rows few enough to be sent to every task of a join? And what was measured of them."""

    few: bool = False
    measured: Measured | None = None


def few_rows(
    session: Session,
    rewriting: Rewriting,
    window: Window,
    scans: Mapping[str, Scan],
    sizes: Iterable[int],
    exact: frozenset[str] | None = None,
) -> FewRows:
    """Measure the rows of the ranges that the run narrows to, where that can matter.

    ``sizes`` are the bytes of the tables that the query reads; ``exact`` the sources whose scans
    have the rows that the run itself will read. The measuring is one statement, which is pruned as
    the run itself is; where all tables are small it is not done. Nothing is known where it fails:
    what is wrong then the run itself will say.
    """
    if max(sizes, default=0) <= SPARK_KNOWS:
        return FewRows()
    measurement = rewriting.measurement(window, scans, exact=exact)
    if measurement is None:
        return FewRows()
    try:
        measured = measurement.read(session.rows(measurement.sql))
    except Exception as error:
        logger.warning("the rows of the window could not be measured: %s", error)
        return FewRows()
    logger.debug("measured of the rows of the window: %s", "; ".join(measured.told()))
    return FewRows(measured.size <= FEW, measured)
