"""Tells whether a `maintained` model would update a query's answer by changes alone."""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.runs.kinds.maintained.how_kept import how_kept, refuse
from tapestry.sql import Catalog
from tapestry.sql.operators.steady import unsteady_places
from tapestry.sql.work import bounded

GOES = (
    "only if its table is to be what its query gives now: rows that its sources have no more go"
    " out of it"
)
"""The condition for a model that is incremental today."""


def kept_by_changes(sql: str, catalog: Catalog) -> bool:
    """Return whether a run recomputes only what a change reaches; False if it is refused, too."""
    try:
        with bounded(sql):
            query = refuse(sql, catalog)
            decides = unsteady_places(query.tree, query.catalog) is None
            kept = how_kept(query, decides, {})
            return kept.whole is None or kept.summed is not None
    except Refusal:
        return False
