"""Small sources are read once a run: its statements share what the first of them has read.

A run that checks its rows reads each source in several statements and in several places of each;
for a small source finding the files of a place takes longer than reading all of it. So a run over
small sources gives each a temporary view of its session, kept in memory from its first use: the
pinned rows with their ids and arrivals. What the rows are does not change by that: the view is made
of the same scan, after the side tables were written, and dropped with the run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tapestry.names import ROW_ID
from tapestry.runs.relations import Relations
from tapestry.runs.session import Session
from tapestry.runs.sources.literals import identifier
from tapestry.runs.state import StateRow
from tapestry.sql import Scan

logger = logging.getLogger(__name__)

SMALL = 8 * 2**20
"""Bytes of a table's files up to which all of it is read, whatever part is asked for.

A hundred thousand messages, or a million rows of a few numbers: read in about a second.
"""


@dataclass(frozen=True)
class Holding:
    """``scans`` as the statements of one run read them; ``statements`` make the ``views``."""

    scans: Mapping[str, Scan] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()


NOTHING_HELD = Holding()


def hold(row: StateRow, relations: Relations, scans: Mapping[str, Scan]) -> Holding:
    """Put a view of the session in the place of each small source; the others stay as they are.

    ``statements`` are to be executed after the run's ``before``: a scan may read what those write.
    """
    found, views, statements = dict(scans), [], []
    for place, (name, scan) in enumerate(sorted(scans.items())):
        if relations.tables[name].table.size > SMALL:
            continue
        view = identifier(f"__tapestry_{row.run_id[:12]}_{place}")
        numbered = "" if scan.row_id == ROW_ID else f", {scan.row_id} AS {ROW_ID}"
        statements += [
            f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT *{numbered} FROM {scan.relation}",
            f"CACHE LAZY TABLE {view}",
        ]
        views.append(view)
        found[name] = replace(scan, relation=view, row_id=ROW_ID)
    return Holding(found, tuple(views), tuple(statements))


def release(session: Session, holding: Holding) -> None:
    """Drop the views, and with them what is kept of them; a failure harms nothing."""
    for view in holding.views:
        try:
            session.run(f"DROP VIEW IF EXISTS {view}")
        except Exception as error:
            logger.warning("%s was not dropped, it goes with the session: %s", view, error)
