"""Lets the statements of a run share one reading of each small source.

A run that checks its rows reads each source in several statements and in several places of each;
for a small source finding the files of a place takes longer than reading all of it. So a run over
small sources gives each a temporary view of its session, kept in memory from its first use: the
pinned rows with their ids and arrivals. The rows are unchanged: the view is made of the same scan,
after the kept tables were written, and dropped with the run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from tapestry.names import ROW_ID
from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.query.relations import Relations
from tapestry.sql import Scan
from tapestry.sql.read.without_ctes import without_ctes

logger = logging.getLogger(__name__)

SMALL = 32 * 2**20
"""Bytes of a table's files up to which all of it is read, whatever part is asked for.

Four hundred thousand messages, or a few million rows of numbers: read in about three seconds.
"""
SMALL_ALONE = 4 * 2**20
"""The same where each statement asks for a narrow part only (``Rewriting.reads_alone``).

A table of 20 MiB in order of arrival, 1 % new: a checked run takes a third less time where each
statement finds its own two files than where all of them are read once.
"""


@dataclass(frozen=True)
class Holding:
    """``scans`` as the statements of one run read them, some from views that ``selects`` make.

    ``rows`` is the view that takes the run's new rows; "" where they are written to a table.
    ``made`` are views that were made as the run was planned.
    """

    scans: Mapping[str, Scan] = field(default_factory=dict)
    selects: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    made: tuple[str, ...] = ()

    @property
    def views(self) -> tuple[str, ...]:
        """All views, to be dropped in this order: first those that no view reads."""
        return (*self.made[::-1], *self.selects, *([self.rows] if self.rows else []))


NOTHING_HELD = Holding()


def hold(relations: Relations, scans: Mapping[str, Scan], narrow: bool) -> Holding:
    """Replace each small source by a view of the session; the others stay as they are.

    The views are to be made after the run's ``before``: a scan may read rows that it writes.
    ``narrow``: no statement of the run reads more than a narrow part.
    """
    found, selects = dict(scans), {}
    most = min(SMALL, SMALL_ALONE) if narrow else SMALL
    for name, scan in sorted(scans.items()):
        if relations.tables[name].table.size > most:
            continue
        view = new_view()
        numbered = "" if scan.row_id == ROW_ID else f", {scan.row_id} AS {ROW_ID}"
        selects[view] = f"SELECT *{numbered} FROM {scan.relation}"
        found[name] = replace(scan, relation=view, row_id=ROW_ID)
    return Holding(found, selects)


def hold_rows(holding: Holding) -> Holding:
    """Return the holding with a view for the run's new rows, which checks and commit read."""
    return replace(holding, rows=new_view())


def make(session: Session, view: str, select: str) -> None:
    """Make a view that is computed once, by its first reader."""
    frame = session.can.frame
    if frame is None:
        session.run(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS\n{select}")
    else:
        # Spark parses and analyses the text of a view wherever it is read, a dataframe's but now.
        # With CTEs in it, a statement that has some of its own would not find what is kept.
        frame(without_ctes(select)).createOrReplaceTempView(view.strip("`"))
    session.run(f"CACHE LAZY TABLE {view}")


def release(session: Session, holding: Holding) -> None:
    """Drop the views and their cached data; a failure harms nothing."""
    for view in holding.views:
        try:
            session.run(f"DROP VIEW IF EXISTS {view}")
        except Exception as error:
            logger.warning("%s was not dropped, it goes with the session: %s", view, error)


def new_view() -> str:
    """Return a name for a view of one execution, so that another execution drops only its own."""
    return identifier(f"__tapestry_{uuid4().hex[:16]}")
