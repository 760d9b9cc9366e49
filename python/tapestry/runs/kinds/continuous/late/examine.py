"""The one entry point: what happened to a source since the last run, and how this run reads it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from tapestry.errors import SourceHistoryGone, SourceRewritten, StateMissing
from tapestry.instants import LAST, at_or_after
from tapestry.runs.engine.own_tables import forget_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.asking_run import AskingRun, PinnedSource
from tapestry.runs.kinds.continuous.late.fingerprints import fingerprint
from tapestry.runs.kinds.continuous.late.grow_side import clean, keep
from tapestry.runs.kinds.continuous.late.late import Late, by_stored, find_late, late_contents
from tapestry.runs.kinds.continuous.late.row_warnings import count_nulls, late_warning, null_warning
from tapestry.runs.kinds.continuous.late.scans import SourceReading
from tapestry.runs.kinds.continuous.late.side import SIDE_COLUMNS, Side, read_side, side_name
from tapestry.runs.kinds.continuous.late.since_last_run import Rules, Since
from tapestry.runs.sources.committed import refuse_lost_times, untold
from tapestry.runs.sources.contents import key_names
from tapestry.runs.sources.describe import DeltaSource, arrival_column
from tapestry.runs.sources.history import SourceCommit, read_history, table_id_at
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
from tapestry.runs.sources.too_old import to_read_again
from tapestry.sql.catalog import Column
from tapestry.sql.scan import Scan
from tapestry.words import counted


@dataclass(frozen=True)
class Examination:
    """What a run has to know about one source.

    changed
        Does this run read another version than the last one?
    late_rows, null_rows, vanished_rows
        Late rows of this window; its new rows without ts, which are never visible; rows that are
        gone since the last run (``deletes_ok``).
    scan
        How the query reads the source, once ``before`` was executed.
    standing
        How one reads it before that; None: alike.
    before
        Statements to be executed, in order, before the target's commit.
    refresh
        The model has to be built again (``on_source_rewrite: refresh``).
    warnings
        Sentences for the user.
    kept
        Late rows of it stand in a kept table, which the next run needs.
    last_end
        The scans have rows that were deleted, ``_ended`` says when: the last of them (None: none).
    living_late
        Did rows come late that are still there?
    reading
        How ``scan`` reads a source with an arrival: what stands in its place can be read so, too.
    """

    changed: bool
    late_rows: int
    null_rows: int
    scan: Scan
    before: tuple[str, ...] = ()
    refresh: bool = False
    warnings: tuple[str, ...] = ()
    vanished_rows: int = 0
    kept: bool = False
    standing: Scan | None = None
    last_end: datetime | None = None
    living_late: bool = False
    reading: SourceReading | None = None

    @property
    def ends(self) -> bool:
        """Have the scans rows that were deleted?"""
        return self.last_end is not None


@dataclass(frozen=True)
class _Change:
    """What a window did to a source: late rows, and a query over the contents that vanished.

    ``old`` is a subquery over the rows of before, those that vanished among them.
    """

    late: Late
    vanished: int = 0
    vanished_contents: str = ""
    old: str = ""
    refresh: bool = False


_LOST = _Change(Late(), refresh=True)


def examine(
    session: Session, source: PinnedSource, run: AskingRun, rules: Rules, remember: Remember = look
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
            return Examination(True, 0, 0, plain_scan(table, pin, None))
        since = Since(session, table, None, last_pin, pin, tau, rules, source.stored)
        return _static(since, source.looks_back)
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
        nulls = remember(key, lambda: count_nulls(session, table, pin, column))
        if nulls and table.commits is not None:
            raise untold(table, nulls)
        return _first_read(table, pin, column, side, nulls)
    if last_pin == pin:
        found = _as_it_was(table, pin, column, side, source.looks_back)
    else:
        since = Since(session, table, column, last_pin, pin, tau, rules, source.stored)
        found = _since(since, column, side, source.looks_back, remember)
    return _undated(found, table) if run.rewound else found


def _undated(found: Examination, table: DeltaSource) -> Examination:
    """After a rewind, late rows of runs that are forgotten arrive anew: nobody asked how early."""
    if found.reading is None:
        return found
    reading = replace(found.reading, late_from=None)
    return replace(found, reading=reading, scan=reading.of(table))


def _since(
    since: Since, column: Column, side: Side, looks_back: bool, remember: Remember
) -> Examination:
    """What the commits after the last run did, and what is kept of it."""
    table, pin = since.table, since.pin
    change = _LOST if _lost_columns(since, side) else remember(_key(since), lambda: _change(since))
    if change.refresh:
        return Examination(True, 0, 0, plain_scan(table, pin, column), refresh=True)
    late, gone = change.late, change.vanished
    warnings = late_warning(since, late) + null_warning(table, column, late.nulls)
    old = change.old if looks_back else ""
    before, grown = keep(since, side, late, change.vanished_contents, old)
    last_end = grown.last_end if looks_back else None
    late_from = LAST if not late.rows else at_or_after(late.least)
    reading = SourceReading(pin, column, grown, last_end is not None, late_from)
    standing = replace(reading, side=side).of(table)
    return Examination(
        True,
        late.rows,
        late.nulls,
        reading.of(table),
        before,
        warnings=warnings,
        vanished_rows=gone,
        kept=grown.needed,
        standing=standing,
        last_end=last_end,
        living_late=bool(grown.live),
        reading=reading,
    )


def _first_read(
    table: DeltaSource, pin: Pin, column: Column, side: Side, nulls: int
) -> Examination:
    """A source that no run before read: nothing of it is late."""
    warnings, reading = (
        null_warning(table, column, nulls),
        SourceReading(pin, column, replace(side, live=0)),
    )
    scan, before = plain_scan(table, pin, column), clean(side)
    return Examination(
        True, 0, nulls, scan, before, warnings=warnings, kept=side.exists, reading=reading
    )


def _as_it_was(
    table: DeltaSource, pin: Pin, column: Column, side: Side, looks_back: bool
) -> Examination:
    """A source that this run reads as the last one did."""
    last_end, before, kept = side.last_end if looks_back else None, clean(side), side.needed
    reading = SourceReading(pin, column, side, last_end is not None, LAST)
    late = bool(side.live)
    return Examination(
        *(False, 0, 0, reading.of(table), before),
        kept=kept,
        last_end=last_end,
        living_late=late,
        reading=reading,
    )


def _as_left(side: Side, table: DeltaSource, last_pin: Pin | None) -> Side:
    """The kept table that the last run left; one that is gone is refused.

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


def _key(since: Since) -> Hashable:
    """All that ``_change`` depends on; what a version of a table holds never changes."""
    table, rule = since.table, since.rules.on_source_rewrite
    described = (table.name, table.columns, table.row_tracking, since.arrival)
    return (*described, since.last, since.pin, since.tau, since.stored, since.grave_until, rule)


def _change(since: Since) -> _Change:
    """Classify the window and take the cheapest exact way to its late rows."""
    commits = _commits(since)
    if commits is None:
        return _without_history(since)
    replaced = since.last.table_id != since.pin.table_id
    # Row tracking that was switched off and on stamps old rows, in files that it adds again.
    changed = any(c.metadata for c in commits) and any(c.touched for c in commits)
    tracked = since.table.commits is None or not changed
    if not replaced and tracked and all(commit.kind != "rewrite" for commit in commits):
        return _Change(find_late(since, commits))
    return _compared(since, commits)


def _commits(since: Since) -> tuple[SourceCommit, ...] | None:
    """The commits of the window; None when the log does not connect the two pins."""
    last, pin = since.last, since.pin
    if pin.version <= last.version:
        return None
    try:
        commits = read_history(
            since.session, since.table, last.version, pin.version, since.arrival, since.tau
        )
    except SourceHistoryGone:
        return None
    if last.table_id == pin.table_id:
        return commits
    # CREATE OR REPLACE gives the table a new id in the same log; DROP and CREATE begin a new log.
    if pin.table_id not in {commit.table_id for commit in commits}:
        return None
    before = table_id_at(since.session, since.table, last.version)
    return commits if before == last.table_id else None


def _compared(since: Since, commits: Sequence[SourceCommit]) -> _Change:
    """A window that rewrote files: what counts is the difference as bags."""
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
        if since.stored is not None:
            return _without_history(since, error)
        if since.rules.on_source_rewrite == "refresh":
            return _Change(Late(), refresh=True)
        raise _incomparable(since, commits, error) from error
    contents = late_contents(since, versions)
    late = Late(found.late, found.grave, found.nulls, found.least, contents, "bags")
    if not found.vanished:
        return _Change(late)
    rule = since.rules.on_source_rewrite
    if rule == "refresh":
        return _Change(Late(), refresh=True)
    if rule != "deletes_ok":
        rows = counted(found.vanished, "row")
        raise rewritten(table, commits, f"lost or changed {rows}")
    names = key_names(table.columns)
    gone = f"SELECT {names}, -_d AS _tap_n FROM ({versions.counts()}) WHERE _d < 0"
    return _Change(late, found.vanished, gone, versions.rows(versions.old))


def _without_history(since: Since, why: Exception | None = None) -> _Change:
    """Nothing connects the two pins but, perhaps, a stored count."""
    if since.stored is None and since.rules.on_source_rewrite == "refresh":
        return _Change(Late(), refresh=True)
    recreated = since.last.table_id != since.pin.table_id
    try:
        return _Change(by_stored(since, 0, why))
    except SourceHistoryGone as error:
        if since.rules.on_source_rewrite == "refresh":
            return _Change(Late(), refresh=True)
        if recreated:
            raise _incomparable(since, ()) from error
        raise


def _incomparable(
    since: Since, commits: Sequence[SourceCommit], why: Exception | None = None
) -> SourceRewritten:
    what = "was dropped and made again" if not commits else "was rewritten"
    return rewritten(
        since.table,
        commits,
        f"{what}, and its state at the last run can no longer be read to compare",
        f"{to_read_again(since.table.name, why)}set on_source_rewrite: refresh, or build the model"
        " again with --full-refresh; reload a source with create or replace, truncate or overwrite,"
        " which keep its history",
    )


def _static(since: Since, looks_back: bool) -> Examination:
    """A look-up table: visible at every instant, so that any change rewrites the past."""
    scan = plain_scan(since.table, since.pin, None)
    if since.last == since.pin:
        return Examination(False, 0, 0, scan)
    commits = _commits(since)
    rule = since.rules.on_source_rewrite
    found, why = None, None
    if commits is not None:
        if not any(commit.kind in ("append", "rewrite") for commit in commits):
            return Examination(True, 0, 0, scan)
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
            return Examination(True, 0, 0, scan)
        if rule == "refresh":
            return Examination(True, 0, 0, scan, refresh=True)
        raise _incomparable(since, commits or (), why)
    if not found.vanished and not found.appended:
        return Examination(True, 0, 0, scan)
    if rule == "refresh":
        return Examination(True, 0, 0, scan, refresh=True)
    if rule == "deletes_ok" and not found.appended and not looks_back:
        return Examination(True, 0, 0, scan, vanished_rows=found.vanished)
    changes = f"{found.appended} new and {found.vanished} vanished"
    raise rewritten(
        since.table,
        commits or (),
        f"is static, but its rows changed ({changes})",
        "set on_source_rewrite: refresh, or run once with --full-refresh; if its rows have an"
        " arrival time, give the source an arrival column",
    )


def _lost_columns(since: Since, side: Side) -> bool:
    """Has the source lost a column of the kept late rows, so that the model has to be built again?

    They are known by their content: without the column, contents that differed in it fall together,
    and not all copies of what is one content now stand in the kept table.  Raises SourceRewritten
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
