"""Checks whether a source can be read as the last run read it, as maintained models need.

Delta reads a version that is not the newest for ``delta.deletedFileRetentionDuration`` after its
commit, and no longer: whoever runs less often, or reads a source that is quiet for longer, gets a
run that computes the whole answer (HISTORY_GONE).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from tapestry.cli.checks import NOTE, Diagnosis
from tapestry.errors import ConfigurationError
from tapestry.quoting import relation_name
from tapestry.report.text import length
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import schedule_of
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.too_old import GUARD, RETENTION, length_of, retention

LOG = "delta.logRetentionDuration"
DEFAULT_LOG = timedelta(days=30)


def check_history(
    session: Session,
    table: DeltaSource,
    readers: Mapping[str, Mapping[str, Any]],
    now: datetime,
    usual: Mapping[str, timedelta],
) -> Iterator[Diagnosis]:
    """A note for each reason why a run of one of the models would be a full one; else nothing.

    ``usual``: relation of a model -> how long it was between two of its runs.
    """
    what, kept = f"source {table.name}", min(retention(table), kept_log(table))
    every_one = _intervals(readers, usual)
    rare = {name: every for name, every in every_one.items() if every > kept}
    longest = max([*rare.values(), kept])
    if rare:
        yield Diagnosis(
            what,
            NOTE,
            f"old versions can be read for {length(kept)}, and {', '.join(sorted(rare))}"
            f" {'runs' if len(rare) == 1 else 'run'} every {length(longest)}: each run that finds"
            " a change computes the whole answer [HISTORY_GONE]",
            _keep(table, longest),
        )
    quiet = timedelta(0) if table.changed is None else now - table.changed
    if not rare and quiet > kept and _guarded(session):
        yield Diagnosis(
            what,
            NOTE,
            f"nothing was committed for {length(quiet)}, and old versions can be read for"
            f" {length(kept)}: at its next change {', '.join(sorted(readers))} will compute the"
            " whole answer [HISTORY_GONE]",
            _keep(table, quiet),
        )


def kept_log(table: DeltaSource) -> timedelta:
    """Return how long the log of a table keeps the description of each version."""
    return length_of(table, LOG, DEFAULT_LOG)


def _intervals(
    readers: Mapping[str, Mapping[str, Any]], usual: Mapping[str, timedelta]
) -> dict[str, timedelta]:
    """Return how often the models have run, else how often their configuration says they run."""
    found = {}
    for name, node in readers.items():
        past = usual.get(plain(node.get("relation_name") or ""))
        if past is not None:
            found[name] = past
            continue
        try:
            every = schedule_of(node["config"]).every
        except ConfigurationError:
            continue  # its own run says so
        if every is not None:
            found[name] = every
    return found


def _guarded(session: Session) -> bool:
    # sql: the name of a setting
    ((_, value),) = session.rows(f"SET {GUARD}")
    return str(value).lower() != "false"


def _keep(table: DeltaSource, at_least: timedelta) -> str:
    days = max(30, 2 * at_least.days)
    return (
        f"alter table {relation_name(table.name)} set tblproperties"
        f" ('{RETENTION}' = 'interval {days:d} days',"
        f" 'delta.logRetentionDuration' = 'interval {days:d} days')"
    )
