"""The entry point: examines a source since the last run, and decides how this run reads it."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from tapestry.errors import LateRowsFound, StateMissing
from tapestry.instants import LAST, at_or_after
from tapestry.runs.engine.own_tables import forget_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.late.change import (
    SourceChange,
    change_of,
    commits_of,
    incomparable,
    key_of,
    lost_columns,
)
from tapestry.runs.kinds.continuous.late.grow_side import clean, keep
from tapestry.runs.kinds.continuous.late.late import Late, count_nulls
from tapestry.runs.kinds.continuous.late.scans import Examination, RowCounts, SourceReading
from tapestry.runs.kinds.continuous.late.side import Side, read_side, side_name
from tapestry.runs.kinds.continuous.late.since_last_run import AskingRun, PinnedSource, Since
from tapestry.runs.sources.committed import refuse_lost_times, untold
from tapestry.runs.sources.describe import DeltaSource, arrival_column
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.remember import Remember, look
from tapestry.runs.sources.rewrites import (
    Versions,
    columns_at,
    compare,
    rewritten,
    touched_files,
)
from tapestry.runs.sources.scans import plain_scan
from tapestry.sql.catalog import Column
from tapestry.words import counted


def examine(
    session: Session,
    source: PinnedSource,
    run: AskingRun,
    rules: ContinuousConfig,
    remember: Remember = look,
) -> Examination:
    """Examine one source for a run (semantics, section 3).

    ``remember`` may know what was found for another model. Without a change there is no Spark job,
    unless the source has a kept table.

    Raises SourceRewritten, SourceHistoryGone, LateRowsFound, Refusal, or StateMissing where the
    kept table is gone.
    """
    table, last_pin, pin, tau = source.table, source.last_pin, source.pin, run.tau
    column = None if source.arrival is None else arrival_column(table, source.arrival)
    if column is None:
        if last_pin is None or tau is None:
            return Examination(True, plain_scan(table, pin, None))
        since = Since(session, table, None, last_pin, pin, tau, rules)
        return _static_source(since, source.looks_back)
    name = side_name(run.target, table.name)
    side = Side(name, run.generation, run.n, uuid4().hex, run.failed)
    if run.n == 1:
        forget_gone(session, side.name)
    else:
        side = _as_left(
            read_side(session, side, last_pin, table.columns, remember), table, last_pin
        )
    if table.commits is not None:
        refuse_lost_times(table, None if last_pin is None else last_pin.table_id)
    if last_pin is None or tau is None:
        key = ("nulls", table.name, column, pin)
        nulls = remember(key, lambda: count_nulls(session, table, pin.version, column))
        if nulls and table.commits is not None:
            raise untold(table, nulls)
        return _first_read(table, pin, column, side, nulls)
    if last_pin == pin:
        reading = SourceReading(pin, column, side, source.looks_back and side.gone, LAST)
        found = Examination(False, reading.of(table), before=clean(side), reading=reading)
    else:
        since = Since(session, table, column, last_pin, pin, tau, rules)
        found = _since(since, column, side, source.looks_back, remember)
    return _undated(found, table) if run.rewound else found


def _undated(found: Examination, table: DeltaSource) -> Examination:
    """Forget since when late rows count: after a rewind those of forgotten runs arrive anew."""
    if found.reading is None:
        return found
    reading = replace(found.reading, late_from=None)
    return replace(found, reading=reading, scan=reading.of(table))


def _since(
    since: Since, column: Column, side: Side, looks_back: bool, remember: Remember
) -> Examination:
    """Return the effects of the commits after the last run, and of the late rows kept from them."""
    table, pin = since.table, since.pin
    change = (
        SourceChange(Late(), refresh=True)
        if lost_columns(since, side)
        else remember(key_of(since), lambda: change_of(since))
    )
    if change.refresh:
        return Examination(True, plain_scan(table, pin, column), refresh=True)
    late = change.late
    warnings = late_warning(since, late) + null_warning(table, column, late.nulls)
    old = change.old if looks_back else ""
    before, grown = keep(since, side, late, change.vanished_contents, old)
    late_from = LAST if not late.rows else at_or_after(late.least)
    reading = SourceReading(pin, column, grown, looks_back and grown.gone, late_from)
    standing = replace(reading, side=side).of(table)
    return Examination(
        True,
        reading.of(table),
        RowCounts(late.rows, late.nulls, change.vanished),
        before,
        warnings=warnings,
        standing=standing,
        reading=reading,
    )


def _first_read(
    table: DeltaSource, pin: Pin, column: Column, side: Side, nulls: int
) -> Examination:
    """Return a source that no run before has read: none of its rows is late."""
    reading = SourceReading(pin, column, replace(side, live=0))
    return Examination(
        True,
        plain_scan(table, pin, column),
        RowCounts(null=nulls),
        clean(side),
        warnings=null_warning(table, column, nulls),
        reading=reading,
    )


def _as_left(side: Side, table: DeltaSource, last_pin: Pin | None) -> Side:
    """Return the kept table that the last run left; raise StateMissing for a missing one.

    Late rows whose arrival is forgotten would count at their ts: in runs that never saw them.
    """
    if last_pin is None or not last_pin.kept or side.exists:
        return side
    raise StateMissing(
        f"{side.name} is gone, which says when rows that came late to {table.name} arrived",
        where=table.name,
        hint="bring it back (it belongs to tapestry_state: restore both as of one moment), or build"
        " the model again with --full-refresh",
    )


def late_warning(since: Since, late: Late) -> tuple[str, ...]:
    """Warn of rows that are late by ``late_after`` or more; raise LateRowsFound if forbidden."""
    if not late.grave or since.rules.late_rows == "deliver":
        return ()
    rows = counted(late.grave, "row")
    text = f"{rows} came to {since.table.name} {since.rules.late_after} or more after their time"
    if since.rules.late_rows == "fail":
        raise LateRowsFound(
            text,
            where=since.table.name,
            hint="set late_rows: warn or deliver to let them arrive now, or repair the source",
        )
    return (f"{text}; they count as arrived just after {since.tau:%Y-%m-%d %H:%M:%S.%f} UTC",)


def null_warning(table: DeltaSource, column: Column | None, rows: int) -> tuple[str, ...]:
    """Warn of rows that will never be visible."""
    if column is None or not rows:
        return ()
    new = counted(rows, "new row") + (" of {} has" if rows == 1 else " of {} have")
    return (f"{new.format(table.name)} no {column.name} and will never be visible",)


def _static_source(since: Since, looks_back: bool) -> Examination:
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
