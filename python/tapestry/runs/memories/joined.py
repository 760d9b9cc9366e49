"""A stored join, the beta memory of a Rete network: pairs of rows of two sources (network, 3).

    (S1 at v1, S2 at v2, P1, P2, J) -> the bag of pairs of rows that P1, P2 and J hold of

with all columns of both and an id of each. It is kept by what is new: at later versions it has,
besides what it holds,

    new rows of S1 joined with all of S2, and old rows of S1 joined with new rows of S2.

The rows of either side are those of its own memory, so that only few are joined. It knows no time,
as that one does not: when a row arrived is told where it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from tapestry.names import ARRIVAL, ROW_ID
from tapestry.quoting import Sql, identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.look import (
    AnyWish,
    InPlace,
    find,
    find_held,
    in_source,
    new_rows,
    old_rows,
)
from tapestry.runs.memories.reasons import NOT_APPENDED_ONLY, SIDE_UNREAD
from tapestry.runs.memories.records import Records
from tapestry.runs.memories.wanted import At, Wanted, hashed, memory_name
from tapestry.runs.sources.describe import OWN_PREFIX, REMEMBERED_ID, DeltaSource, arrival_sql
from tapestry.runs.sources.scans import row_id
from tapestry.sql.catalog import Column
from tapestry.sql.look.joined_uses import JoinedUse
from tapestry.sql.scan import LEFT, RIGHT, JoinScan, Window

FORM = "join 1"
"""The form of what is kept: another one is another table."""
NEW = f"{OWN_PREFIX}new"
"""Came a row in after what is held?"""
FEW = 32 * 2**20
"""Bytes that are new in a source up to which Spark is told to send them to every task."""


@dataclass(frozen=True)
class WantedJoin:
    """The pairs of wanted rows of two sources that ``conditions`` hold of.

    conditions
        SQL over the columns of both as they stand beside each other (``LEFT``, ``RIGHT``), sorted.
    """

    left: Wanted
    right: Wanted
    conditions: tuple[str, ...]

    @property
    def sides(self) -> tuple[tuple[str, Wanted], tuple[str, Wanted]]:
        """The two, by how their columns' names begin."""
        return (LEFT, self.left), (RIGHT, self.right)

    @property
    def schema(self) -> str:
        """That of both sides' memories."""
        return self.left.schema

    @cached_property
    def signature(self) -> str:
        """A hash of all that says which pairs it has, and how."""
        return hashed((FORM, self.left.signature, self.right.signature, *self.conditions))

    @property
    def name(self) -> str:
        """The table that holds them."""
        return memory_name(self.schema, self.signature)

    @property
    def origins(self) -> tuple[DeltaSource, ...]:
        """The two that it is of."""
        return self.left.table, self.right.table

    @property
    def records(self) -> Records:
        """Which tables runs have built in the schema."""
        return self.left.records

    @property
    def read_at(self) -> At:
        """The versions that the run reads, and their bytes."""
        return self.left.read_at + self.right.read_at

    @property
    def copied(self) -> Sql:
        """The columns of a pair: those of the left row, its id, and the same of the right one."""
        return Sql(", ".join(name for side, one in self.sides for name in _flat(side, one)))

    @property
    def where(self) -> str:
        """The conditions as one."""
        # sql: conditions that sqlglot wrote
        return " AND ".join(f"({one})" for one in self.conditions)


@dataclass(frozen=True)
class JoinWish(AnyWish):
    """What one run asked for two uses of sources that its model names together.

    wanted
        None where either has no memory of its own.
    found
        What is read in the place of both.
    """

    model: str
    use: JoinedUse
    wanted: WantedJoin | None
    found: InPlace
    window: Window
    named: bool = True

    def reading(self, found: InPlace) -> JoinWish:
        """The same, which reads that."""
        return replace(self, found=found)

    @property
    def told(self) -> tuple[str, str, tuple[str, ...]]:
        """The aliases, the sources, and the conditions on both."""
        both = (self.use.left, self.use.right)
        sources = ", ".join(dict.fromkeys(use.source for use in both))
        return ", ".join(use.written for use in both), sources, self.use.conditions


class LateReading(Protocol):
    """How a run reads a source with rows that came late."""

    def arms_by_time(self, table: DeltaSource) -> tuple[str, str]:
        """SELECTs of the rows whose content never came late, and of the others; "" for none.

        Each has the columns of the source, the arrival and the row id.
        """

    def not_late(self, columns: Sequence[Column], prefix: str) -> str:
        """The condition on columns of these names that their content never came late."""


@dataclass(frozen=True)
class _Rows:
    """The rows of one side: a relation of those that are held, and SELECTs of what came since."""

    wanted: Wanted
    old: str
    new: tuple[str, ...] = ()

    def beside(self, side: str) -> str:
        """A query: all of them as they stand beside another's, each with its id, and ``NEW``."""
        wanted, listed = self.wanted, self.wanted.copied
        arms = [f"SELECT {listed}, false AS {NEW} FROM {self.old}"]
        arms += [f"SELECT {listed}, true AS {NEW} FROM ({one})" for one in self.new]
        rows = " UNION ALL ".join(arms)
        # Equal rows are numbered as they came in, so that what is held keeps its numbers.
        known = replace(wanted.table, remembered=rows)
        own = ", ".join(
            f"{name} AS {flat}"
            for name, flat in zip(
                [*_names(wanted), row_id(known, first=NEW)], _flat(side, wanted), strict=True
            )
        )
        return f"SELECT {own}, {NEW} AS {identifier(side + NEW)} FROM ({rows})"


def find_join(session: Session, wanted: WantedJoin) -> InPlace:
    """What stands in the place of both sources at their pins: the stored join, and what is new."""
    return find_held(session, wanted, lambda held: new_pairs(session, wanted, held))


def new_pairs(
    session: Session, wanted: WantedJoin, held: At, anyway: bool = False
) -> tuple[str, ...] | str:
    """SELECTs of the pairs that came to be after these versions; a text says why none are told.

    ``anyway``: the old rows of a side are read from its source where its memory has not got them.
    """
    sides: list[_Rows] = []
    for (_, one), (version, _) in zip(wanted.sides, held, strict=True):
        new = new_rows(session, one, version)
        if new is None:
            return NOT_APPENDED_ONLY
        sides.append(_Rows(one, "", new))
    if not any(side.new for side in sides):
        return ()
    for place, (side, (version, _)) in enumerate(zip(sides, held, strict=True)):
        old = old_rows(session, side.wanted, version)
        if not old.relation and not anyway:
            return SIDE_UNREAD
        sides[place] = replace(side, old=old.relation or in_source(side.wanted, version))
    left, right = sides
    grown = [now - then for (_, now), (_, then) in zip(wanted.read_at, held, strict=True)]
    is_new = [identifier(side + NEW) for side, _ in wanted.sides]
    arms = []
    if left.new:
        arms.append(_pairs(wanted, (left, right), is_new[0], LEFT if grown[0] <= FEW else ""))
    if right.new:
        only = f"NOT {is_new[0]} AND {is_new[1]}"
        arms.append(_pairs(wanted, (left, right), only, RIGHT if grown[1] <= FEW else ""))
    return tuple(arms)


def all_pairs(session: Session, wanted: WantedJoin, alone: bool = False) -> str:
    """A SELECT of what it holds of the sources at their pins; ``alone``: no memory is read."""
    rows = []
    for _, one in wanted.sides:
        there = "" if alone else find(session, one).relation
        rows.append(_Rows(one, there or in_source(one, one.pin.version)))
    return _pairs(wanted, (rows[0], rows[1]), "true")


def _pairs(wanted: WantedJoin, rows: tuple[_Rows, _Rows], which: str, few: str = "") -> str:
    """The pairs of these rows that are wanted, and that ``which`` says."""
    hint = f"/*+ BROADCAST(_tap_{few}s) */ " if few else ""
    return (
        f"SELECT {hint}{wanted.copied} FROM ({rows[0].beside(LEFT)}) AS _tap_{LEFT}s"
        f" CROSS JOIN ({rows[1].beside(RIGHT)}) AS _tap_{RIGHT}s"
        f" WHERE {wanted.where} AND {which}"
    )


def _names(wanted: Wanted) -> Sequence[Sql]:
    return [identifier(column.name) for column in wanted.table.columns]


def _flat(side: str, wanted: Wanted) -> Sequence[Sql]:
    """How the columns of one side are called beside the other's, its id last."""
    names = [*(column.name for column in wanted.table.columns), REMEMBERED_ID]
    return [identifier(side + name) for name in names]


def scan_of_join(wanted: WantedJoin, relation: str) -> JoinScan:
    """How a statement reads it: no row of either source came late, or has ended."""
    first, second = (arrival_sql(one.arrival_beside(side)) for side, one in wanted.sides)
    return JoinScan(relation, (first, second), _ids())


def scan_with_late(
    wanted: WantedJoin,
    relation: str,
    rows: tuple[str, str],
    readings: tuple[LateReading, LateReading],
) -> JoinScan:
    """The same where rows of either came late; ``rows`` are those of each side's own memory.

    A content that ever came late is known by its side table, with the arrival of each copy. So the
    pairs are those of contents that never did; those of a left row that came late with any right
    one; and those of a left row in time with a right one that came late.
    """
    timely, late = [], []
    for (side, one), own, reading in zip(wanted.sides, rows, readings, strict=True):
        table = replace(one.table, remembered=own)
        arms = reading.arms_by_time(table)
        in_time, behind = (_named(side, one, arm) if arm else "" for arm in arms)
        timely.append(in_time)
        late.append(behind)
    known = " AND ".join(
        reading.not_late(one.table.columns, side)
        for (side, one), reading in zip(wanted.sides, readings, strict=True)
    )
    first, second = (
        f"{arrival_sql(one.arrival_beside(side), '_tap_s')} AS {side}{ARRIVAL}"
        for side, one in wanted.sides
    )
    pairs = [f"SELECT {wanted.copied}, {first}, {second} FROM {relation} AS _tap_s WHERE {known}"]
    if late[0]:
        right = f"{timely[1]} UNION ALL {late[1]}" if late[1] else timely[1]
        pairs.append(_pairs_with_arrivals(wanted, late[0], right))
    if late[1]:
        pairs.append(_pairs_with_arrivals(wanted, timely[0], late[1]))
    arrivals = f"{LEFT}{ARRIVAL}", f"{RIGHT}{ARRIVAL}"
    return JoinScan(f"({' UNION ALL '.join(pairs)})", arrivals, _ids())


def _named(side: str, wanted: Wanted, arm: str) -> str:
    """The rows of an arm (``LateReading``) as they stand beside another's."""
    names = zip([*_names(wanted), ROW_ID], _flat(side, wanted), strict=True)
    own = ", ".join(f"{name} AS {flat}" for name, flat in names)
    return f"SELECT {own}, {ARRIVAL} AS {side}{ARRIVAL} FROM ({arm})"


def _pairs_with_arrivals(wanted: WantedJoin, left: str, right: str) -> str:
    return (
        f"SELECT {wanted.copied}, {LEFT}{ARRIVAL}, {RIGHT}{ARRIVAL}"
        f" FROM ({left}) CROSS JOIN ({right}) WHERE {wanted.where}"
    )


def _ids() -> tuple[str, str]:
    return identifier(LEFT + REMEMBERED_ID), identifier(RIGHT + REMEMBERED_ID)
