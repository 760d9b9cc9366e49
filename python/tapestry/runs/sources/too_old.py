"""Versions of sources that Delta no longer reads, and what lets it read them again.

Delta refuses a version that is not the newest once its commit is older than
``delta.deletedFileRetentionDuration``, whether VACUUM has run or not: unless a session has another
setting, as ours do where their server lets them. Then a version is gone when its files are.
"""

from __future__ import annotations

from datetime import timedelta

from tapestry.errors import ConfigurationError, SourceHistoryGone
from tapestry.quoting import relation_name
from tapestry.runs.engine.errors_of_delta import too_old
from tapestry.runs.engine.instants import parse_length
from tapestry.runs.sources.describe import DeltaSource

RETENTION = "delta.deletedFileRetentionDuration"
DEFAULT = timedelta(days=7)
GUARD = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
"""With it Delta refuses a version by its age; on by default."""
READS_OLD = {GUARD: "false"}
"""Settings of a session in which a version can be read for as long as its files are there."""


def retention(table: DeltaSource) -> timedelta:
    """Return how long a table keeps files that are only in old versions."""
    return length_of(table, RETENTION, DEFAULT)


def length_of(table: DeltaSource, name: str, unsaid: timedelta) -> timedelta:
    """Return a property of a table that is a length of time; ``unsaid`` where it has none."""
    said = table.properties.get(name)
    try:
        return unsaid if said is None else parse_length(said, name)
    except ConfigurationError:
        return unsaid


def to_read_again(name: str, error: BaseException | None) -> str:
    """Return the way out for an error about a version's age; '' for another error.

    The text ends so that another way out can follow.
    """
    if not too_old(error):
        return ""
    return (
        f"alter table {relation_name(name)} set tblproperties"
        f" ('{RETENTION}' = 'interval 30 days') lets Delta read it again"
        " where VACUUM has not run, and run more often than that; or "
    )


def version_gone(name: str, version: int, error: BaseException | None) -> SourceHistoryGone:
    """Return the error for a version that a run has read, and that cannot be read any more."""
    aged = "its commit is older than delta.deletedFileRetentionDuration"
    why = aged if too_old(error) else "its log or files are gone"
    return SourceHistoryGone(
        f"version {version} of {name} can no longer be read: {why}",
        where=name,
        hint=f"{to_read_again(name, error)}build the model again with --full-refresh",
    )
