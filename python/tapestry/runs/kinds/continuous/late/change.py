"""Finds the late rows of a source since the last run, by the cheapest exact way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tapestry.errors import SourceRewritten
from tapestry.runs.kinds.continuous.late.late import Late, cannot_tell, find_late, late_contents
from tapestry.runs.kinds.continuous.late.side import SIDE_COLUMNS, Side
from tapestry.runs.kinds.continuous.late.since_last_run import Since
from tapestry.runs.sources.contents import key_names
from tapestry.runs.sources.history import SourceCommit, commits_between
from tapestry.runs.sources.rewrites import (
    Versions,
    columns_at,
    compare,
    rewritten,
    touched_files,
)
from tapestry.runs.sources.too_old import to_read_again
from tapestry.words import counted


@dataclass(frozen=True)
class SourceChange:
    """The effect of a window on a source: late rows, and a query over vanished contents.

    ``old`` is a subquery over the rows of before, those that vanished among them.
    """

    late: Late
    vanished: int = 0
    vanished_contents: str = ""
    old: str = ""
    refresh: bool = False


def key_of(since: Since) -> Hashable:
    """Return all that ``change_of`` depends on; a version of a table never changes."""
    table, rule = since.table, since.rules.on_source_rewrite
    described = (table.name, table.columns, table.row_tracking, since.arrival)
    return (*described, since.last, since.pin, since.tau, since.grave_until, rule)


def change_of(since: Since) -> SourceChange:
    """Classify the window and take the cheapest exact way to its late rows."""
    commits = commits_of(since)
    if commits is None:
        return _without_history(since)
    replaced = since.last.table_id != since.pin.table_id
    # Row tracking that was switched off and on stamps old rows, in files that it adds again.
    changed = any(c.metadata for c in commits) and any(c.touched for c in commits)
    tracked = since.table.commits is None or not changed
    if not replaced and tracked and all(commit.kind != "rewrite" for commit in commits):
        return SourceChange(find_late(since, commits))
    return _compared(since, commits)


def commits_of(since: Since) -> tuple[SourceCommit, ...] | None:
    """Return the commits of the window; None when the log does not connect the two pins."""
    return commits_between(
        since.session, since.table, since.last, since.pin, since.arrival, since.tau
    )


def _compared(since: Since, commits: Sequence[SourceCommit]) -> SourceChange:
    """Return the change by a window that rewrote files: the difference of the rows as bags."""
    table, last, pin = since.table, since.last, since.pin
    try:
        old = table.columns
        if any(commit.metadata for commit in commits):
            old = columns_at(since.session, table, last.version)
        versions = Versions(
            table, since.arrival, last.version, pin.version, old, touched_files(commits)
        )
        found = compare(since.session, versions, since.tau, since.grave_until)
    except Exception as error:
        if since.rules.on_source_rewrite == "refresh":
            return SourceChange(Late(), refresh=True)
        raise incomparable(since, commits, error) from error
    contents = late_contents(since, versions)
    late = Late(found.late, found.grave, found.nulls, found.least, contents)
    if not found.vanished:
        return SourceChange(late)
    rule = since.rules.on_source_rewrite
    if rule == "refresh":
        return SourceChange(Late(), refresh=True)
    if rule != "deletes_ok":
        rows = counted(found.vanished, "row")
        raise rewritten(table, commits, f"lost or changed {rows}")
    names = key_names(table.columns)
    gone = f"SELECT {names}, -_d AS _tap_n FROM ({versions.counts()}) WHERE _d < 0"
    return SourceChange(late, found.vanished, gone, versions.rows(versions.old))


def _without_history(since: Since) -> SourceChange:
    """Return that the table is built anew, or raise: the log does not connect the two pins."""
    if since.rules.on_source_rewrite == "refresh":
        return SourceChange(Late(), refresh=True)
    if since.last.table_id != since.pin.table_id:
        raise incomparable(since, ())
    raise cannot_tell(since)


def incomparable(
    since: Since, commits: Sequence[SourceCommit], why: Exception | None = None
) -> SourceRewritten:
    """Return the error of a source whose rows of then and now can no longer be compared."""
    what = "was dropped and made again" if not commits else "was rewritten"
    return rewritten(
        since.table,
        commits,
        f"{what}, and its state at the last run can no longer be read to compare",
        f"{to_read_again(since.table.name, why)}set on_source_rewrite: refresh, or build the model"
        " again with --full-refresh; reload a source with create or replace, truncate or overwrite,"
        " which keep its history",
    )


def lost_columns(since: Since, side: Side) -> bool:
    """Return whether the source lost a column of the kept late rows, so that a rebuild is needed.

    They are known by their content: without the column, contents that differed in it fall together,
    and not all copies of what is one content now stand in the kept table. Raises SourceRewritten
    unless the model says ``refresh``.
    """
    there = {column.name.lower() for column in since.table.columns} | SIDE_COLUMNS
    lost = [c.name for c in side.columns if c.name.lower() not in there]
    if not side.live or not lost:
        return False
    if since.rules.on_source_rewrite != "refresh":
        raise SourceRewritten(
            f"{since.table.name} no longer has the column {lost[0]}, by which rows that came late"
            " are known",
            where=since.table.name,
            hint="set on_source_rewrite: refresh, or build the model again with --full-refresh",
        )
    return True
