"""Measurements before a run reads rows: how many it would read, and how few it narrows to."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tapestry.errors import TooManyInstants
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.model.model import Model
from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.branches.measured import Measured
from tapestry.sql.scan import KnownAnswers

logger = logging.getLogger(__name__)
SPARK_KNOWS = 10 * 2**20
"""Bytes of a table up to which Spark sends it to every task of its own accord."""
FEW = 256 * 2**20
"""So many bytes of rows fit into a driver of some gigabytes with room to spare, also twice."""


@dataclass(frozen=True)
class FewRows:
    """Whether rows are few enough for a broadcast to each task of a join, with measurements."""

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
    the run itself will report the error.
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


SHOWN = 3
"""So many of the largest keys are named."""


def count_instants(
    session: Session,
    model: Model,
    query: Query,
    window: Window,
    scans: Mapping[str, Scan],
    known: KnownAnswers | None = None,
) -> int:
    """Return the number of pairs of an instant and a row that a run reads, at most; or 0.

    It is 0 for queries of other strategies. Raises TooManyInstants over the model's
    ``instants_limit``, with the largest keys.
    """
    config: ContinuousConfig = model.config.own
    pairs, largest = 0, list[str]()
    at_begin = known is not None and known.at_begin
    for text in query.rewriting.row_instants(window, scans, at_begin):
        rows = session.rows(
            "SELECT *, sum(row_instants) OVER () AS _all FROM (\n"
            f"{text}\n) ORDER BY row_instants DESC NULLS LAST LIMIT {SHOWN}"
        )
        pairs += int(rows[0][-1] or 0) if rows else 0
        largest += [_shown(row) for row in rows if len(row) > 2]
    if pairs > config.instants_limit:
        raise TooManyInstants(
            f"{model.name} would look at {pairs:,} pairs of an instant and a row, more than"
            f" instants_limit: {config.instants_limit:,}"
            + (f"; most of them for {'; '.join(largest)}" if largest else " (it has no key)"),
            where=model.file,
            hint="a later begin, more columns to group by, a greater instants_limit, or a table"
            " over a continuous model of the rows",
        )
    return pairs


def _shown(row: tuple[object, ...]) -> str:
    """Return a key, shortened, and its pairs."""
    *key, pairs, _ = row
    named = ", ".join("NULL" if one is None else " ".join(str(one).split())[:40] for one in key)
    return f"({named}) {int(float(str(pairs or 0))):,}"
