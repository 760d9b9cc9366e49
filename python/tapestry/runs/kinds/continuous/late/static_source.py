"""Examines a look-up table since the last run: any change of its rows rewrites the past."""

from __future__ import annotations

from tapestry.runs.kinds.continuous.late.change import commits_of, incomparable
from tapestry.runs.kinds.continuous.late.fingerprints import fingerprint
from tapestry.runs.kinds.continuous.late.scans import Examination, RowCounts
from tapestry.runs.kinds.continuous.late.since_last_run import Since
from tapestry.runs.sources.rewrites import (
    Versions,
    columns_at,
    compare,
    rewritten,
    touched_files,
)
from tapestry.runs.sources.scans import plain_scan


def static_source(since: Since, looks_back: bool) -> Examination:
    """Examine a look-up table: it is visible at every instant, so a change rewrites the past."""
    scan = plain_scan(since.table, since.pin, None)
    if since.last == since.pin:
        return Examination(False, scan)
    commits = commits_of(since)
    rule = since.rules.on_source_rewrite
    found, why = None, None
    if commits is not None:
        if not any(commit.kind in ("append", "rewrite") for commit in commits):
            return Examination(True, scan)
        try:
            old = columns_at(since.session, since.table, since.last.version)
            last, pin = since.last.version, since.pin.version
            versions = Versions(since.table, None, last, pin, old, touched_files(commits))
            found = compare(since.session, versions, None, None)
        except Exception as error:
            why = error
    if found is None:
        if since.stored is not None and since.stored.same_as(
            fingerprint(since.session, since.table, since.pin.version, None, None)
        ):
            return Examination(True, scan)
        if rule == "refresh":
            return Examination(True, scan, refresh=True)
        raise incomparable(since, commits or (), why)
    if not found.vanished and not found.appended:
        return Examination(True, scan)
    if rule == "refresh":
        return Examination(True, scan, refresh=True)
    if rule == "deletes_ok" and not found.appended and not looks_back:
        return Examination(True, scan, rows=RowCounts(vanished=found.vanished))
    changes = f"{found.appended} new and {found.vanished} vanished"
    raise rewritten(
        since.table,
        commits or (),
        f"is static, but its rows changed ({changes})",
        "set on_source_rewrite: refresh, or run once with --full-refresh; if its rows have an"
        " arrival time, give the source an arrival column",
    )
