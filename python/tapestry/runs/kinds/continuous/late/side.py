"""The kept table ``<target>__late_<k>``: it keeps the arrivals of late rows for ever.

A late row is known by its content. The table holds *every* copy of a content that was ever late:
the late copies with their arrival, the copies that were in time with their ts. No copy with ts <= τ
can turn up without being late, so these are all there will be, and a scan takes such contents from
here and everything else from the source. A copy that vanishes (``deletes_ok``) is ended by a second
row with the same id; of equal copies the one that arrived last ends first.

A row that was in time and vanishes comes here too, with its end, where the query has to know what
was there before: whether something was an answer then decides whether it is a new one now. It is no
longer in the source, so that no scan has to leave it out.

The rows of one run are one batch, written by one statement. Batches of runs that did not land
do not count (semantics, section 4): those with n at or above this run's, those of a run that was
closed without rows, those of another generation, and those that read another version of the source
than the run that landed n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from zlib import crc32

from tapestry.instants import from_micros
from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.quoting import Sql, identifier, relation_name, string, strings
from tapestry.runs.engine.column_types import columns_of_table, sql_type
from tapestry.runs.engine.errors_of_delta import files_gone
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.late import FEW
from tapestry.runs.kinds.continuous.late.side_rows import BATCH, LACKING, check_columns, own_batches
from tapestry.runs.sources.contents import (
    column_list,
    content_hash,
    hash_decides,
    named_keys,
    same_content,
    same_keys,
)
from tapestry.runs.sources.describe import LATE
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.remember import Remember, look
from tapestry.runs.tables.kept import Marks, kept_name
from tapestry.sql.catalog import Column

_Batch: TypeAlias = tuple[str, str, int, int, int, bool, int | None]
"""Batch, generation, n, version of the source, copies that it adds or takes, does it end any of
them, the last end of the rows in it that have ended."""

MARKS = Marks(Sql(f"{LATE}.generation"), Sql(f"{LATE}.n"))
SIDE_COLUMNS = frozenset({LATE, ARRIVAL, ROW_ID})
"""The columns that a kept table has in addition to those of its source."""


@dataclass(frozen=True)
class Side:
    """The kept table of one source as one run finds it.

    ``failed`` are runs that were closed without rows, ``garbage`` batches that do not exist;
    ``live`` copies are in force; ``ends`` says whether any of them was ended; ``last_end`` is the
    last end of the rows that stand there with one (None: there are none); ``batch`` is this run's
    own, and ``own`` says that it counts: it stands there once the run's ``before`` was executed.
    ``contents`` are the hashes of the contents in force, where they are few and tell contents
    apart; None: they have to be looked up in the table.
    """

    name: str
    generation: str
    n: int
    batch: str
    failed: tuple[int, ...] = ()
    columns: tuple[Column, ...] = ()
    garbage: tuple[str, ...] = ()
    live: int = 0
    ends: bool = False
    last_end: datetime | None = None
    own: bool = False
    contents: frozenset[str] | None = frozenset()

    @property
    def exists(self) -> bool:
        """Whether there is such a table yet."""
        return bool(self.columns)

    @property
    def needed(self) -> bool:
        """Whether there will be one once this run's ``before`` was executed."""
        return self.exists or self.own

    @property
    def gone(self) -> bool:
        """Whether it holds rows that have ended."""
        return self.last_end is not None

    def rows(self, source: Sequence[Column]) -> str:
        """Return a query: the copies in force, with the source's columns, arrival and row id."""
        table, there, ended = relation_name(self.name), self._there, ""
        if self.ends:
            ended = (
                f" AND NOT EXISTS (SELECT 1 FROM (SELECT {ROW_ID} AS _id FROM {table}"
                f" WHERE {there} AND {LATE}.ends) WHERE _id = _t.{ROW_ID})"
            )
        return (
            f"SELECT {self._items(source)}, {ARRIVAL}, {ROW_ID} FROM {table} AS _t"
            f" WHERE {there} AND {LATE}.ended IS NULL{ended}"
        )

    def gone_rows(self, source: Sequence[Column]) -> str:
        """Return a query: the copies that have ended, with the same columns and ``_ended``."""
        return (
            f"SELECT {self._items(source)}, {ARRIVAL}, {ROW_ID}, {LATE}.ended AS {ENDED}"
            f" FROM {relation_name(self.name)} WHERE {self._there} AND {LATE}.ended IS NOT NULL"
        )

    @property
    def _there(self) -> str:
        """Return the condition that a row of the table exists for this run."""
        there: str = MARKS.counts(self.generation, self.n)
        if self.garbage:
            there += f" AND {LATE}.batch NOT IN ({strings(self.garbage)})"
        return f"({there} OR {LATE}.batch = {string(self.batch)})" if self.own else there

    def _items(self, source: Sequence[Column]) -> str:
        """Return the source's columns; this run's batch comes with those of today."""
        return column_list(source) if self.own else self.items(source)

    def items(self, source: Sequence[Column]) -> str:
        """Return the source's columns as a select list over the present table."""
        types = {c.name.lower(): c.type for c in self.columns}
        return ", ".join(_item(column, types.get(column.name.lower())) for column in source)


def side_name(target: str, source: str) -> str:
    """Return the name of the kept table that a target keeps for a source.

    >>> side_name("`db`.`unanswered`", "bboard.messages")
    'db.unanswered__late_40fd44eb'
    """
    return kept_name(target, f"__late_{crc32(source.lower().encode()):08x}")


def read_side(
    session: Session,
    side: Side,
    last_pin: Pin | None,
    source: Sequence[Column] = (),
    remember: Remember = look,
) -> Side:
    """Return ``side`` with the table's contents; one catalog look-up when there is none.

    A table whose folder somebody deleted is none. Raises StateUnreadable for rows, or a table,
    that no run has written.

    ``source`` has the columns of the source today, where ``contents`` are wanted. ``remember``
    may know what the table holds: a version of it never changes.
    """
    seen = session.can.glance(side.name)
    if seen is None or seen.version is None:
        if not exists(session, side.name):
            return side
        stored = _stored(session, side, source)
    else:
        key = ("kept table", seen, seen.version, seen.definition, tuple(source))
        stored = remember(key, lambda: _stored(session, side, source))
    return side if stored is None else _read(side, stored, last_pin)


def _read(side: Side, stored: _Stored, last_pin: Pin | None) -> Side:
    """Return ``side`` with the contents of its table."""
    side = replace(side, columns=stored.columns)
    found = own_batches(side.name, side.generation, stored.found)
    rows, batches = (found, totals_of_rows(found)) if stored.single else (None, _batches(found))
    garbage = left_over_batches(batches, side, last_pin)
    valid = {
        name: (copies, ends, last)
        for name, generation, n, _, copies, ends, last in batches
        if generation == side.generation and n < side.n and name not in garbage
    }
    ended = any(ends for _, ends, _ in valid.values())
    contents = None
    if rows is not None and not ended:
        there = (str(row[-1]) for row in rows if row[0] in valid and row[-2] is None)
        contents = frozenset(there)
    last_end = _last(last for *_, last in valid.values())
    return replace(
        side,
        garbage=tuple(sorted(garbage)),
        live=sum(copies for copies, *_ in valid.values()),
        ends=ended,
        last_end=None if last_end is None else from_micros(last_end),
        contents=contents,
    )


@dataclass(frozen=True)
class _Stored:
    """The contents of a kept table: its columns, and each row where ``single``, else each batch."""

    columns: tuple[Column, ...]
    found: Sequence[tuple[Any, ...]]
    single: bool


def _stored(session: Session, side: Side, source: Sequence[Column]) -> _Stored | None:
    """Return the contents of the table; None where its folder is gone."""
    try:
        columns = columns_of_table(session, side.name)
    except Exception as error:
        if files_gone(error):
            return None
        raise
    side = replace(side, columns=tuple(Column(name, kind.lower()) for name, kind in columns))
    check_columns(side.name, side.columns)
    rows = _few_rows(session, side, source)
    if rows is not None:
        return _Stored(side.columns, rows, single=True)
    return _Stored(side.columns, _every_batch(session, side), single=False)


def _few_rows(
    session: Session, side: Side, source: Sequence[Column]
) -> list[tuple[Any, ...]] | None:
    """Return every row where they are few, else None.

    Each is (batch, generation, n, version, does it lack something, ends, its end, content hash).
    """
    if not source or not hash_decides(source):
        return None
    rows = session.rows(
        f"SELECT {BATCH}, int({LACKING}), {LATE}.ends IS TRUE, unix_micros({LATE}.ended),"
        f" {content_hash(source)} FROM"
        f" (SELECT {LATE}, {ARRIVAL}, {ROW_ID}, {side.items(source)}"
        f" FROM {relation_name(side.name)}) LIMIT {FEW + 1}"
    )
    return rows if len(rows) <= FEW else None


def _every_batch(session: Session, side: Side) -> list[tuple[Any, ...]]:
    """Return batches: (batch, generation, n, version, lacks something, copies, ends, last)."""
    return session.rows(
        f"SELECT {BATCH}, max(int({LACKING})),"
        f" sum(CASE WHEN {LATE}.ends THEN -1 WHEN {LATE}.ended IS NULL THEN 1 ELSE 0 END),"
        f" bool_or({LATE}.ends), unix_micros(max({LATE}.ended))"
        f" FROM {relation_name(side.name)} GROUP BY ALL"
    )


def _batches(found: Sequence[tuple[Any, ...]]) -> list[_Batch]:
    return [(*row[:4], int(row[4]), bool(row[5]), row[6]) for row in found]


def totals_of_rows(rows: Sequence[tuple[Any, ...]]) -> list[_Batch]:
    """Return the totals of each batch, as ``_batches`` has them, from single rows."""
    sums: dict[tuple[str, str, int, int], tuple[int, bool, int | None]] = {}
    for *batch, ends, ended, _ in rows:
        copies, any_ends, last = sums.get(tuple(batch), (0, False, None))
        copies += -1 if ends else 1 if ended is None else 0
        sums[tuple(batch)] = (copies, any_ends or ends, _last((last, ended)))
    return [(*batch, *totals) for batch, totals in sums.items()]


def _last(ends: Iterable[int | None]) -> int | None:
    return max((end for end in ends if end is not None), default=None)


def left_over_batches(batches: Sequence[_Batch], side: Side, last_pin: Pin | None) -> set[str]:
    """Return the batches that can never count again.

    Those with n at or above ours may belong to a run that is still on its way: they are not
    counted, but left alone.
    """
    garbage: set[str] = set()
    first: dict[tuple[int, int], str] = {}
    for name, of, number, version, *_ in sorted(batches):
        if of != side.generation:
            # The generation before may still be the one in force until a refresh has landed.
            if last_pin is not None:
                garbage.add(name)
        elif number in side.failed:
            garbage.add(name)
        elif number < side.n:
            # A crashed run and its repetition read the same pins: their batches are the same bag.
            known = first.setdefault((number, version), name)
            # Without a last pin the query read this source before, but not at the last run:
            # nobody followed it since.
            followed = last_pin is not None and (number < side.n - 1 or version == last_pin.version)
            if known != name or not followed:
                garbage.add(name)
    return garbage


def known_in(columns: Sequence[Column], side: Side) -> tuple[str, str]:
    """Return the condition that the table has the content of ``_tap_s``, and its join."""
    if not side.live:
        return "false", ""
    if side.contents is not None:
        return f"{content_hash(columns, '_tap_s')} IN ({strings(sorted(side.contents))})", ""
    return "_o._is IS NOT NULL", (
        f" LEFT JOIN (SELECT DISTINCT {named_keys(columns)}, true AS _is"
        f" FROM ({side.rows(columns)})) AS _o ON {same_keys(columns, '_tap_s', '_o')}"
    )


def not_late(columns: Sequence[Column], side: Side, prefix: str = "") -> str:
    """Return the condition that the kept table lacks the content of ``_tap_s``.

    ``prefix`` is how the names of its columns begin there.
    """
    if not side.live:
        return "true"
    there = [replace(column, name=prefix + column.name) for column in columns]
    if side.contents is not None:
        return f"{content_hash(there, '_tap_s')} NOT IN ({strings(sorted(side.contents))})"
    same = same_content(columns, "_l", "_tap_s", there)
    return f"NOT EXISTS (SELECT 1 FROM ({side.rows(columns)}) AS _l WHERE {same})"


def _item(column: Column, known: str | None) -> str:
    """Return SQL for a column of the source from the kept table; ``known`` is its type there."""
    name = identifier(column.name)
    if known == column.type:
        return name
    if known is None:
        return f"CAST(NULL AS {sql_type(column.type)}) AS {name}"
    return f"CAST({name} AS {sql_type(column.type)}) AS {name}"
