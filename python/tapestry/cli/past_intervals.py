"""Reads from ``tapestry_runs`` how often models have run; the table may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from tapestry.names import RUNS_TABLE
from tapestry.quoting import relation_name
from tapestry.runs.engine.session import Session

ENOUGH = 3
"""So many intervals say what is usual."""
DAYS = 90
"""Runs before that do not count."""


def past_intervals(session: Session, schema: str) -> Mapping[str, timedelta]:
    """The usual time between two runs of a model that wrote: its relation -> the median."""
    table = relation_name(f"{schema}.{RUNS_TABLE}")
    try:
        rows = session.rows(
            "SELECT model, percentile(gap, 0.5) FROM (SELECT model,"
            " unix_timestamp(ended_at) - lag(unix_timestamp(ended_at))"
            f" OVER (PARTITION BY model ORDER BY ended_at) AS gap FROM {table}"
            f" WHERE action <> 'failed' AND ended_at > now() - INTERVAL {DAYS:d} DAYS)"
            f" WHERE gap IS NOT NULL GROUP BY model HAVING count(*) >= {ENOUGH:d}"
        )
    except Exception:
        return {}
    return {str(model): timedelta(seconds=float(gap)) for model, gap in rows}
