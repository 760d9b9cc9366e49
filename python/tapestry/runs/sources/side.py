"""Late rows kept: the side table ``<target>__late_<k>``, which gives them their arrival for ever.

A late row is known by its content. The table holds *every* copy of a content that was ever late:
the late copies with their arrival, the copies that were in time with their ts. No copy with ts <= τ
can turn up without being late, so these are all there will be, and a scan takes such contents from
here and everything else from the source. A copy that vanishes (``deletes_ok``) is ended by a second
row with the same id; of equal copies the one that arrived last ends first.

The rows of one run are one batch, written by one statement. Batches of runs that did not land
do not exist (semantics, section 4): those with n at or above this run's, those of another
generation, and those that read another version of the source than the run that landed n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from zlib import crc32

from tapestry.instants import MICRO, from_micros
from tapestry.names import ARRIVAL, ROW_ID
from tapestry.runs.session import Session
from tapestry.runs.sources.contents import (
    column_list,
    content_hash,
    hash_decides,
    named_keys,
    same_content,
    same_keys,
)
from tapestry.runs.sources.describe import LATE, arrival_sql
from tapestry.runs.sources.late import FEW, Late
from tapestry.runs.sources.literals import identifier, relation_name, string, strings, timestamp
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.since import Since
from tapestry.sql.catalog import Column

_BATCH = f"{LATE}.batch, {LATE}.generation, {LATE}.n, {LATE}.version"
_Batch: TypeAlias = tuple[str, str, int, int, int, bool]
"""Batch, generation, n, version of the source, copies that it adds or takes, does it end any?"""

SIDE_COLUMNS = frozenset({LATE, ARRIVAL, ROW_ID})
"""What a side table has besides the columns of its source."""


@dataclass(frozen=True)
class Side:
    """The side table of one source as one run finds it.

    ``garbage`` are batches that do not exist; ``live`` copies are in force; ``ends`` says whether
    any copy was ended; ``batch`` is this run's own, and ``own`` says that it counts: it stands
    there once the run's ``before`` was executed. ``contents`` are the hashes of the contents in
    force, where they are few and tell contents apart; None: they have to be looked up in the table.
    """

    name: str
    generation: str
    n: int
    batch: str
    columns: tuple[Column, ...] = ()
    garbage: tuple[str, ...] = ()
    live: int = 0
    ends: bool = False
    own: bool = False
    contents: frozenset[str] | None = frozenset()

    @property
    def exists(self) -> bool:
        """Is there such a table yet?"""
        return bool(self.columns)

    @property
    def needed(self) -> bool:
        """Will there be one once this run's ``before`` was executed?"""
        return self.exists or self.own

    def rows(self, source: Sequence[Column]) -> str:
        """A query: the copies in force, with the source's columns, arrival and row id."""
        earlier = f"{LATE}.n < {self.n}"
        if self.garbage:
            earlier += f" AND {LATE}.batch NOT IN ({strings(self.garbage)})"
        if self.own:
            earlier = f"({earlier} OR {LATE}.batch = {string(self.batch)})"
        there = f"{LATE}.generation = {string(self.generation)} AND {earlier}"
        table = relation_name(self.name)
        # This run's batch comes with the source's columns of today.
        items = column_list(source) if self.own else self.items(source)
        ended = ""
        if self.ends:
            ended = (
                f" AND NOT EXISTS (SELECT 1 FROM (SELECT {ROW_ID} AS _id FROM {table}"
                f" WHERE {there} AND {LATE}.ends) WHERE _id = _t.{ROW_ID})"
            )
        return (
            f"SELECT {items}, {ARRIVAL}, {ROW_ID} FROM {table} AS _t"
            f" WHERE {there} AND NOT {LATE}.ends{ended}"
        )

    def items(self, source: Sequence[Column]) -> str:
        """The source's columns as a select list over the table that stands there now."""
        types = {c.name.lower(): c.type for c in self.columns}
        return ", ".join(_item(column, types.get(column.name.lower())) for column in source)


def side_name(target: str, source: str) -> str:
    """The name of the side table that a target keeps for a source.

    >>> side_name("`db`.`unanswered`", "bboard.messages")
    'db.unanswered__late_fc4fb6b4'
    """
    return f"{target.replace('`', '')}__late_{crc32(source.lower().encode()):08x}"


def read_side(
    session: Session, side: Side, last_pin: Pin | None, source: Sequence[Column] = ()
) -> Side:
    """``side`` with what stands in the table; one catalog look-up when there is none.

    ``source`` has the columns of the source today, where ``contents`` are wanted.
    """
    schema, _, table = side.name.rpartition(".")
    scope = f" IN {relation_name(schema)}" if schema else ""
    if not session.rows(f"SHOW TABLES{scope} LIKE {string(table)}"):
        return side
    described = session.rows(f"DESCRIBE TABLE {relation_name(side.name)}")
    side = replace(side, columns=tuple(Column(row[0], str(row[1]).lower()) for row in described))
    rows = _few_rows(session, side, source)
    batches = _batches(session, side) if rows is None else _summed(rows)
    garbage = _garbage(batches, side.generation, side.n, last_pin)
    valid = {
        name: (copies, ends)
        for name, generation, n, _, copies, ends in batches
        if generation == side.generation and n < side.n and name not in garbage
    }
    ended = any(ends for _, ends in valid.values())
    contents = None
    if rows is not None and not ended:
        contents = frozenset(str(content) for name, *_, content in rows if name in valid)
    return replace(
        side,
        garbage=tuple(sorted(garbage)),
        live=sum(copies for copies, _ in valid.values()),
        ends=ended,
        contents=contents,
    )


def _few_rows(
    session: Session, side: Side, source: Sequence[Column]
) -> list[tuple[Any, ...]] | None:
    """Every row as (batch, generation, n, version, ends, content hash), where they are few."""
    if not source or not hash_decides(source):
        return None
    rows = session.rows(
        f"SELECT {_BATCH}, {LATE}.ends, {content_hash(source)}"
        f" FROM (SELECT {LATE}, {side.items(source)} FROM {relation_name(side.name)})"
        f" LIMIT {FEW + 1}"
    )
    return rows if len(rows) <= FEW else None


def _batches(session: Session, side: Side) -> list[_Batch]:
    found = session.rows(
        f"SELECT {_BATCH}, sum(IF({LATE}.ends, -1, 1)), bool_or({LATE}.ends)"
        f" FROM {relation_name(side.name)} GROUP BY ALL"
    )
    return [(*found[:4], int(found[4]), bool(found[5])) for found in found]


def _summed(rows: Sequence[tuple[Any, ...]]) -> list[_Batch]:
    """What ``_batches`` asks for, from the rows themselves."""
    sums: dict[tuple[str, str, int, int], tuple[int, bool]] = {}
    for *batch, ends, _ in rows:
        copies, ended = sums.get(tuple(batch), (0, False))
        sums[tuple(batch)] = (copies + (-1 if ends else 1), ended or ends)
    return [(*batch, *totals) for batch, totals in sums.items()]


def _garbage(batches: Sequence[_Batch], generation: str, n: int, last_pin: Pin | None) -> set[str]:
    """Batches that can never count again. Those with n at or above ours may belong to a run that
    is still on its way: they are not counted, but left alone."""
    garbage: set[str] = set()
    first: dict[tuple[int, int], str] = {}
    for name, of, number, version, *_ in sorted(batches):
        if of != generation:
            # The generation before may still be the one in force until a refresh has landed.
            if last_pin is not None:
                garbage.add(name)
        elif number < n:
            # A crashed run and its repetition read the same pins: their batches are the same bag.
            known = first.setdefault((number, version), name)
            # Without a last pin the query read this source before, but not at the last run:
            # nobody followed it since.
            followed = last_pin is not None and (number < n - 1 or version == last_pin.version)
            if known != name or not followed:
                garbage.add(name)
    return garbage


def clean(side: Side) -> tuple[str, ...]:
    """Remove batches that do not exist. Every run has to: a later one could not tell them apart."""
    if not side.garbage:
        return ()
    batches = strings(side.garbage)
    return (f"DELETE FROM {relation_name(side.name)} WHERE {LATE}.batch IN ({batches})",)


def keep(since: Since, side: Side, late: Late, vanished: str) -> tuple[tuple[str, ...], Side]:
    """The statements that bring the side table up to this run, to be executed before its commit.

    ``vanished`` is a query over keys with ``_n`` copies that are gone ("" when none are). The side
    table comes back as it is then.
    """
    ended = _ended(since, side, vanished) if vanished and side.live else ""
    added = _added(since, side, late) if late.rows else ""
    if not ended and not added:
        return clean(side), side
    names = f"{LATE}, {ARRIVAL}, {ROW_ID}, {column_list(since.table.columns)}"
    rows = " UNION ALL ".join(query for query in (ended, added) if query)
    insert = f"INSERT INTO {relation_name(side.name)} ({names}) SELECT {names} FROM ({rows})"
    contents = None
    if not ended and side.contents is not None and late.hashes is not None:
        contents = side.contents | late.hashes
    grown = replace(side, own=True, ends=side.ends or bool(ended), contents=contents)
    return (*clean(side), *_prepared(since, side), insert), grown


def _prepared(since: Since, side: Side) -> list[str]:
    """Create the table, or let it take on the source's new columns and wider types."""
    nothing = (
        f"SELECT {_facts(since, side, 'false')}, CAST(NULL AS TIMESTAMP) AS {ARRIVAL},"
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
        f"MERGE WITH SCHEMA EVOLUTION INTO {name} AS _t USING ({nothing}) AS _n ON false"
        " WHEN NOT MATCHED THEN INSERT *"
    ]


def _facts(since: Since, side: Side, ends: str) -> str:
    return (
        f"named_struct('generation', {string(side.generation)}, 'n', {side.n}L,"
        f" 'version', {since.pin.version}L, 'batch', {string(side.batch)},"
        f" 'ends', {ends}) AS {LATE}"
    )


def _ended(since: Since, side: Side, vanished: str) -> str:
    """End as many copies of each content as vanished, the last arrivals first."""
    columns = since.table.columns
    names = column_list(columns, "_l")
    return (
        f"SELECT {_facts(since, side, 'true')}, {ARRIVAL}, {ROW_ID}, {column_list(columns)} FROM ("
        f"SELECT {names}, _l.{ARRIVAL}, _l.{ROW_ID}, _v._n, row_number() OVER (PARTITION BY"
        f" {', '.join(f'_v._k{i}' for i in range(len(columns)))}"
        f" ORDER BY _l.{ARRIVAL} DESC, _l.{ROW_ID}) AS _copy"
        f" FROM ({side.rows(columns)}) AS _l JOIN ({vanished}) AS _v"
        f" ON {same_keys(columns, '_l', '_v')}) WHERE _copy <= _n"
    )


def _added(since: Since, side: Side, late: Late) -> str:
    """The late copies, and with a content that is late for the first time its other copies."""
    if since.arrival is None or late.least is None:
        raise ValueError("late rows have an arrival")
    columns = since.table.columns
    arr = arrival_sql(since.arrival, "_s")
    low, high = timestamp(from_micros(late.least)), timestamp(since.tau)
    known, join = "false", ""
    if side.live and side.contents is not None:
        known = f"{content_hash(columns, '_s')} IN ({strings(sorted(side.contents))})"
    elif side.live:
        known = "_o._is IS NOT NULL"
        join = (
            f" LEFT JOIN (SELECT DISTINCT {named_keys(columns)}, true AS _is"
            f" FROM ({side.rows(columns)})) AS _o ON {same_keys(columns, '_s', '_o')}"
        )
    copies = (
        f"SELECT {column_list(columns, '_s')}, {arr} AS _arr, _l._n,"
        f" {known} AS _known,"
        f" row_number() OVER (PARTITION BY {', '.join(f'_l._k{i}' for i in range(len(columns)))}"
        f" ORDER BY {arr}) AS _copy"
        f" FROM {since.table.at(since.pin.version)} AS _s JOIN ({late.contents}) AS _l"
        f" ON {same_keys(columns, '_s', '_l')}{join} WHERE {arr} BETWEEN {low} AND {high}"
    )
    return (
        f"SELECT {_facts(since, side, 'false')},"
        f" IF(_copy <= _n, {timestamp(since.late_arrival)}, _arr) AS {ARRIVAL},"
        f" uuid() AS {ROW_ID}, {column_list(columns)} FROM ({copies})"
        f" WHERE _copy <= _n OR NOT _known"
    )


def carry(
    session: Session, side: Side, read: Pin, pin: Pin, arrival: Column, to: datetime, into: str
) -> tuple[str, ...]:
    """The statement that gives the copies in force to run 1 of the generation ``into``.

    ``side`` is how the run after the one that crossed ``to`` would find the table, ``read`` what
    that one had read, ``pin`` what the new generation goes on from. A copy that had arrived by
    ``to`` keeps its arrival; any other was missing then: it arrives at its ts, or just after
    ``to`` where that is later.
    """
    found = read_side(session, side, read)
    if not found.live:
        return ()
    own = {LATE, ARRIVAL, ROW_ID}
    columns = [c for c in found.columns if c.name.lower() not in own]
    facts = (
        f"named_struct('generation', {string(into)}, 'n', 1L, 'version', {pin.version}L,"
        f" 'batch', {string(into)}, 'ends', false)"
    )
    late = f"greatest({arrival_sql(arrival)}, {timestamp(to + MICRO)})"
    arrived = f"IF({ARRIVAL} <= {timestamp(to)}, {ARRIVAL}, {late})"
    names = column_list(columns)
    return (
        f"INSERT INTO {relation_name(side.name)} ({LATE}, {ARRIVAL}, {ROW_ID}, {names})"
        f" SELECT {facts}, {arrived}, {ROW_ID}, {names}"
        f" FROM ({found.rows(columns)})",
    )


def not_late(columns: Sequence[Column], side: Side) -> str:
    """The condition that the content of ``_s`` is none of those that the side table has."""
    if side.contents is not None:
        return f"{content_hash(columns, '_s')} NOT IN ({strings(sorted(side.contents))})"
    same = same_content(columns, "_l", "_s")
    return f"NOT EXISTS (SELECT 1 FROM ({side.rows(columns)}) AS _l WHERE {same})"


def _item(column: Column, known: str | None) -> str:
    """A column of the source from the table that stands there; ``known`` is its type in it."""
    name = identifier(column.name)
    if known == column.type:
        return name
    if known is None:
        return f"CAST(NULL AS {column.type}) AS {name}"
    return f"CAST({name} AS {column.type}) AS {name}"
