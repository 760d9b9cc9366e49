"""Reads how the last runs of a model updated its table, and how long they took.

Read from ``tapestry_runs``, once an invocation for all its models. Nothing depends on the log:
where it is missing, or cannot be read, no run is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from tapestry.names import RUNS_TABLE
from tapestry.quoting import relation_name, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.engine.session import Session

KNOWN = 25
"""So many runs of a model are known, the newest ones."""
FOR = timedelta(days=30)
"""Runs before that are not."""


@dataclass(frozen=True)
class PastRun:
    """One run that published.

    seconds
        From its plan to its commit, checks included.
    size
        Bytes of all tables that the whole answer is computed from.
    changed
        Bytes that were read to find the changes; None: none were, or that is not known.
    """

    refresh: str
    reason: str
    seconds: float
    size: int
    changed: int | None


def past_runs(session: Session, invocation: Invocation, model: str) -> tuple[PastRun, ...]:
    """Return the runs of a model (its relation in lower case), the newest first."""
    key = ("past runs", invocation.id, invocation.clock.instant)
    return invocation.remember(key, partial(_read, session, invocation)).get(model, ())


def _read(session: Session, invocation: Invocation) -> Mapping[str, tuple[PastRun, ...]]:
    table = relation_name(in_schema_of(invocation.state_table, RUNS_TABLE))
    since = timestamp(invocation.clock.instant - FOR)
    try:
        rows = session.rows(
            "SELECT model, refresh, reason, seconds, bytes_full, bytes_changed FROM"
            " (SELECT *, row_number() OVER (PARTITION BY model ORDER BY ended_at DESC) AS _place"
            f" FROM {table} WHERE ended_at >= {since} AND action <> 'failed'"
            " AND refresh IN ('incremental', 'full') AND seconds IS NOT NULL)"
            f" WHERE _place <= {KNOWN:d} ORDER BY model, _place"
        )
    except Exception:
        return {}
    found: dict[str, list[PastRun]] = defaultdict(list)
    for model, refresh, reason, seconds, size, changed in rows:
        run = PastRun(str(refresh), str(reason or ""), float(seconds), int(size or 0), changed)
        found[str(model)].append(run)
    return {model: tuple(runs) for model, runs in found.items()}
