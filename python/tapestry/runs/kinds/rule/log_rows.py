"""Finds the rows of a log of changes with the load that has brought each.

feed       the change data feed of the table says which commit has inserted a row
tracked    row tracking says it of every existing row
files      the log of the table says which files a commit has added
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tapestry.errors import ChangesGone, SourceHistoryGone
from tapestry.instants import LAST
from tapestry.quoting import identifiers, relation_name, string, strings
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import column_list
from tapestry.runs.sources.difference import FEED, feed_of, feed_reaches
from tapestry.runs.sources.history import NAMES, SourceCommit, read_history
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.row_ids import BACKFILL
from tapestry.runs.sources.stretches import SEGMENTS, stretches_of
from tapestry.runs.sources.transactions import gone

LOAD = "_tap_load"
"""The commit that has brought a row of a log."""
FILES = 2_000
"""So many files of loads are named in one run, at most."""


def loaded_rows(session: Session, log: Pinned, after: int) -> str:
    """Return a SELECT of the rows that came after a version, with the load of each.

    Raises ChangesGone where that cannot be told, or rows were changed in between.
    """
    table, until = log.table, log.pin.version
    names = identifiers(column.name for column in table.columns)
    if until <= after:
        return f"SELECT {names}, CAST(NULL AS BIGINT) AS {LOAD} FROM {table.at(until)} LIMIT 0"
    try:
        commits = read_history(session, table, after, until, None, LAST)
    except SourceHistoryGone as error:
        raise gone(table, after, until) from error
    odd = [one for one in commits if one.kind == "rewrite"]
    if any(one.operation != "DELETE" for one in odd):
        raise _changed(log, next(one for one in odd if one.operation != "DELETE"))
    has_feed = table.properties.get(FEED, "").lower() == "true"
    if has_feed and feed_reaches(session, table, after + 1, until):
        feed = feed_of(table, after + 1, until)
        return (
            f"SELECT {names}, _commit_version AS {LOAD} FROM {feed} WHERE _change_type = 'insert'"
        )
    if table.row_tracking and not any(one.operation == BACKFILL for one in commits):
        version = "_tap_s._metadata.row_commit_version"
        listed = column_list(log.table.columns, "_tap_s")
        return (
            f"SELECT {listed}, {version} AS {LOAD} FROM {table.at(until)} AS _tap_s"
            f" WHERE {version} > {after:d}"
        )
    if odd:
        raise _changed(log, odd[0])
    return _by_files(log, after, commits)


def _by_files(log: Pinned, after: int, commits: Sequence[SourceCommit]) -> str:
    table, until = log.table, log.pin.version
    added = [one for one in commits if one.kind == "append"]
    stretches = stretches_of(until, commits, added)
    load_of = {name: one.version for one in added for name in one.late_files}
    named = all(one.late_count == len(one.late_files) <= NAMES for one in added)
    if not named or len(load_of) > FILES or len(stretches) > SEGMENTS:
        raise gone(
            table, after, until,
            "it has neither a change data feed nor row tracking, and too many files have come;"
            f" ALTER TABLE {relation_name(table.name)} SET TBLPROPERTIES ('{FEED}' = 'true') helps"
            " for what comes next",
        )  # fmt: skip
    listed, file = column_list(log.table.columns, "_tap_s"), "_tap_s._metadata.file_name"
    parts = [f"SELECT {listed}, CAST(NULL AS BIGINT) AS {LOAD} FROM {table.at(until)} AS _tap_s"
             " LIMIT 0"]  # fmt: skip
    for version, files in stretches.items():
        loads = string(json.dumps({name: load_of[name] for name in files}))
        load = f"element_at(from_json({loads}, 'map<string,bigint>'), {file})"
        parts.append(
            f"SELECT {listed}, {load} AS {LOAD} FROM {table.at(version)} AS _tap_s"
            f" WHERE {file} IN ({strings(files)})"
        )
    return " UNION ALL ".join(f"({part})" for part in parts)


def _changed(log: Pinned, commit: SourceCommit) -> ChangesGone:
    name = log.table.name
    return ChangesGone(
        f"version {commit.version} of {name} ({commit.operation}) has changed or removed rows, and"
        " a log of changes only grows",
        where=name,
        hint="write a change as another row of the log; --full-refresh of the rule begins with what"
        " comes next, and drops what its actions have not done yet",
    )
