"""Statements that write a run's rows into the kept table of a source, before its commit.

These are late copies, the ends of copies that vanished, rows that a rewind copies, and the removal
of batches that never came to count (`tapestry.runs.kinds.continuous.late.side` defines the table).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tapestry.instants import MICRO, at_or_after
from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.quoting import relation_name, string, strings, timestamp
from tapestry.runs.kinds.continuous.late.late import Late
from tapestry.runs.kinds.continuous.late.side import SIDE_COLUMNS, Side, known_in
from tapestry.runs.kinds.continuous.late.since_last_run import Since
from tapestry.runs.sources.contents import column_list, key_names, same_keys
from tapestry.runs.sources.describe import LATE, arrival_sql
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column

NOT_ENDED = "CAST(NULL AS TIMESTAMP)"


def clean(side: Side) -> tuple[str, ...]:
    """Return statements that remove batches that do not count; each run has to execute them."""
    if not side.garbage:
        return ()
    batches = strings(side.garbage)
    return (f"DELETE FROM {relation_name(side.name)} WHERE {LATE}.batch IN ({batches})",)


def keep(
    since: Since, side: Side, late: Late, vanished: str, old: str
) -> tuple[tuple[str, ...], Side]:
    """Return statements that update the kept table before this run's commit, and the table then.

    ``vanished`` is a query over keys with ``_tap_n`` copies that are gone ("" when none are),
    ``old`` a subquery over the rows of before where they are to be kept with their end ("" where
    the query never reads them again).
    """
    ended = _ended(since, side, vanished) if vanished and side.live else ""
    gone = _gone(since, side, vanished, old) if vanished and old else ""
    added = _added(since, side, late) if late.rows else ""
    if not ended and not gone and not added:
        return clean(side), side
    names = f"{LATE}, {ARRIVAL}, {ROW_ID}, {column_list(since.table.columns)}"
    rows = " UNION ALL ".join(query for query in (ended, gone, added) if query)
    insert = f"INSERT INTO {relation_name(side.name)} ({names}) SELECT {names} FROM ({rows})"
    contents, hashes = None, late.hashes if added else frozenset()
    if not ended and side.contents is not None and hashes is not None:
        contents = side.contents | hashes
    grown = replace(
        side,
        own=True,
        live=side.live + (late.rows if added else 0),
        ends=side.ends or bool(ended),
        last_end=since.late_arrival if ended or gone else side.last_end,
        contents=contents,
    )
    return (*clean(side), *_prepared(since, side), insert), grown


def _prepared(since: Since, side: Side) -> list[str]:
    """Return statements that create the table, or add the source's new columns and types."""
    nothing = (
        f"SELECT {_facts(since, side)}, CAST(NULL AS TIMESTAMP) AS {ARRIVAL},"
        f" CAST(NULL AS STRING) AS {ROW_ID}, {column_list(since.table.columns)}"
        f" FROM {since.table.at(since.pin.version)} WHERE false"
    )
    name = relation_name(side.name)
    if not side.exists:
        properties = "'delta.enableTypeWidening' = 'true'"
        if since.table.properties.get("delta.columnMapping.mode", "none") != "none":
            properties += ", 'delta.columnMapping.mode' = 'name'"
        return [
            f"CREATE TABLE IF NOT EXISTS {name} USING delta TBLPROPERTIES ({properties})"
            f" AS {nothing}"
        ]
    known = {column.name.lower(): column.type for column in side.columns}
    if all(known.get(column.name.lower()) == column.type for column in since.table.columns):
        return []
    return [
        f"MERGE WITH SCHEMA EVOLUTION INTO {name} AS _t USING ({nothing}) AS _tap_n ON false"
        " WHEN NOT MATCHED THEN INSERT *"
    ]


def _facts(since: Since, side: Side, ends: bool = False, ended: str = NOT_ENDED) -> str:
    return _struct(side.generation, side.n, since.pin.version, side.batch, ends, ended)


def _struct(generation: str, n: int, version: int, batch: str, ends: bool, ended: str) -> str:
    """Return the value of our column, as SQL; ``ended`` is SQL."""
    return (
        f"named_struct('generation', {string(generation)}, 'n', {n}L, 'version', {version}L,"
        f" 'batch', {string(batch)}, 'ends', {str(ends).lower()}, 'ended', {ended}) AS {LATE}"
    )


def _ended(since: Since, side: Side, vanished: str) -> str:
    """Return rows that end as many copies of each content as vanished, last arrivals first."""
    columns = since.table.columns
    names = column_list(columns, "_l")
    facts = _facts(since, side, True, timestamp(since.late_arrival))
    return (
        f"SELECT {facts}, {ARRIVAL}, {ROW_ID}, {column_list(columns)} FROM ("
        f"SELECT {names}, _l.{ARRIVAL}, _l.{ROW_ID}, _v._tap_n, row_number() OVER (PARTITION BY"
        f" {key_names(columns, '_v')} ORDER BY _l.{ARRIVAL} DESC, _l.{ROW_ID}) AS _tap_copy"
        f" FROM ({side.rows(columns)}) AS _l JOIN ({vanished}) AS _v"
        f" ON {same_keys(columns, '_l', '_v')}) WHERE _tap_copy <= _tap_n"
    )


def _gone(since: Since, side: Side, vanished: str, old: str) -> str:
    """Return the vanished copies that were in time, with their end; not those of ``_ended``.

    Equal copies that were in time have one arrival: which of them vanished cannot be seen.
    """
    columns = since.table.columns
    known, join = known_in(columns, side)
    numbered = f"PARTITION BY {key_names(columns, '_v')} ORDER BY _tap_s._tap_arr"
    copies = (
        f"SELECT {column_list(columns, '_tap_s')}, _tap_s._tap_arr, _v._tap_n,"
        f" {known} AS _tap_known, row_number() OVER ({numbered}) AS _tap_copy"
        f" FROM {old} AS _tap_s JOIN ({vanished}) AS _v"
        f" ON {same_keys(columns, '_tap_s', '_v')}{join}"
        f" WHERE _tap_s._tap_arr <= {timestamp(since.tau)}"
    )
    facts = _facts(since, side, ended=timestamp(since.late_arrival))
    return (
        f"SELECT {facts}, _tap_arr AS {ARRIVAL}, uuid() AS {ROW_ID}, {column_list(columns)}"
        f" FROM ({copies}) WHERE _tap_copy <= _tap_n AND NOT _tap_known"
    )


def _added(since: Since, side: Side, late: Late) -> str:
    """Return the late copies, with the other copies of contents late for the first time."""
    if since.arrival is None or late.least is None:
        raise ValueError("late rows have an arrival")
    columns = since.table.columns
    arr = arrival_sql(since.arrival, "_tap_s")
    low, high = at_or_after(late.least), f"{arr} <= {timestamp(since.tau)}"
    between = high if low is None else f"{arr} >= {timestamp(low)} AND {high}"
    known, join = known_in(columns, side)
    copies = (
        f"SELECT {column_list(columns, '_tap_s')}, {arr} AS _tap_arr, _l._tap_n,"
        f" {known} AS _tap_known,"
        f" row_number() OVER (PARTITION BY {key_names(columns, '_l')} ORDER BY {arr}) AS _tap_copy"
        f" FROM {since.table.at(since.pin.version)} AS _tap_s JOIN ({late.contents}) AS _l"
        f" ON {same_keys(columns, '_tap_s', '_l')}{join} WHERE {between}"
    )
    return (
        f"SELECT {_facts(since, side)},"
        f" IF(_tap_copy <= _tap_n, {timestamp(since.late_arrival)}, _tap_arr) AS {ARRIVAL},"
        f" uuid() AS {ROW_ID}, {column_list(columns)} FROM ({copies})"
        f" WHERE _tap_copy <= _tap_n OR NOT _tap_known"
    )


def carry(found: Side, pin: Pin, arrival: Column, to: datetime, into: str) -> tuple[str, ...]:
    """Return the statement that gives the copies in force to run 1 of the generation ``into``.

    ``found`` is how the run after the one that crossed ``to`` would find the table, ``pin`` what
    the new generation goes on from. A copy that had arrived by ``to`` keeps its arrival; any other
    was missing then: it arrives at its ts, or just after ``to`` where that is later. A copy that
    was gone by then ended there; one that was gone before it arrived never was there.
    """
    if not found.live and not found.gone:
        return ()
    columns = [c for c in found.columns if c.name.lower() not in SIDE_COLUMNS]
    after = timestamp(to + MICRO)
    # Not least(): Spark's skips a NULL, which is the end of a copy that is there.
    facts = _struct(into, 1, pin.version, into, False, f"IF({ENDED} > {after}, {after}, {ENDED})")
    late = f"greatest({arrival_sql(arrival)}, {after})"
    arrived = f"IF({ARRIVAL} <= {timestamp(to)}, {ARRIVAL}, {late})"
    names = column_list(columns)
    return (
        f"INSERT INTO {relation_name(found.name)} ({LATE}, {ARRIVAL}, {ROW_ID}, {names})"
        f" SELECT {facts}, {arrived}, {ROW_ID}, {names}"
        f" FROM (SELECT *, {NOT_ENDED} AS {ENDED} FROM ({found.rows(columns)})"
        f" UNION ALL {found.gone_rows(columns)})"
        f" WHERE {ENDED} IS NULL OR {ARRIVAL} <= {timestamp(to)}",
    )
