"""Defines the rows of a memory: rows of a source, or pairs of two, as one session reads them.

A memory has one or two *sides*. With one it holds the rows of a source for which some conditions
hold. With two it is a stored join, the beta memory of a Rete network (network, section 3): the bag
of pairs of such rows for which conditions on both hold, too, with all columns of both and an id of
each. It knows no time: when a row arrived is told where it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from tapestry.names import MEMORY_PREFIX
from tapestry.quoting import Sql, identifiers
from tapestry.runs.sources.describe import REMEMBERED_ID, DeltaSource
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column
from tapestry.sql.scan import LEFT, RIGHT

FORM: Final = "2"
FORM_OF_PAIRS: Final = "join 1"
"""The forms of what is kept: another one is another table."""
MAPPING = "delta.columnMapping.mode"
At = tuple[tuple[int, int], ...]
"""For each side, a version of its source, and the number of bytes of that version."""


@dataclass(frozen=True)
class MemorySide:
    """The rows of a source at a version for which all of ``conditions`` hold.

    conditions
        SQL over the source's columns, sorted.
    """

    table: DeltaSource
    pin: Pin
    arrival: Column
    conditions: tuple[str, ...]

    def at(self, version: int) -> MemorySide:
        """Return the same side at another version."""
        return replace(self, pin=replace(self.pin, version=version))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The source's columns, and Delta's row id where there is one."""
        ids = (Column(REMEMBERED_ID, "string"),) if self.table.row_tracking else ()
        return (*self.table.columns, *ids)


@dataclass(frozen=True)
class MemoryDefinition:
    """The rows, or the pairs of rows, that a memory holds.

    sides
        One, or two.
    on
        For two: SQL over the columns of both as they stand beside each other (``LEFT``, ``RIGHT``),
        sorted.
    schema
        The schema of memories, which is that of the state.
    session
        The time zone and the settings by which conditions mean something.
    """

    sides: tuple[MemorySide, ...]
    schema: str
    session: tuple[str, ...]
    on: tuple[str, ...] = ()

    def joined(self, other: MemoryDefinition, on: tuple[str, ...]) -> MemoryDefinition:
        """Return the pairs of its rows and another's."""
        return replace(self, sides=self.sides + other.sides, on=on)

    def narrowed(self, conditions: tuple[str, ...]) -> MemoryDefinition:
        """Return the rows of its one source for which these conditions hold."""
        return replace(self, sides=(replace(self.side, conditions=conditions),))

    @property
    def side(self) -> MemorySide:
        """The only side; a memory with two has no such side."""
        (only,) = self.sides
        return only

    @property
    def apart(self) -> tuple[MemoryDefinition, ...]:
        """The memories of its sides, each by itself."""
        return tuple(replace(self, sides=(side,), on=()) for side in self.sides)

    @property
    def placed(self) -> tuple[tuple[str, MemorySide], ...]:
        """The sides, with the prefixes of their columns' names."""
        prefixes = ("",) if len(self.sides) == 1 else (LEFT, RIGHT)
        return tuple(zip(prefixes, self.sides, strict=True))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions on its rows; for a stored join those on both sides."""
        return self.side.conditions if len(self.sides) == 1 else self.on

    @cached_property
    def signature(self) -> str:
        """A hash of all that determines which rows of a version it has, and how.

        A source that is made anew, or has other columns, has another signature.
        """
        if len(self.sides) > 1:
            return _hashed((FORM_OF_PAIRS, *(one.signature for one in self.apart), *self.on))
        side, table = self.side, self.side.table
        columns = [f"{column.name} {column.type}" for column in table.columns]
        rows = (table.table_id, str(table.row_tracking), *columns)
        return _hashed((FORM, *rows, side.arrival.name, *self.session, *side.conditions))

    @property
    def name(self) -> str:
        """The table that holds them."""
        return f"{self.schema}.{MEMORY_PREFIX}{self.signature}"

    @property
    def sources(self) -> str:
        """The names of its sources, for people."""
        return ", ".join(dict.fromkeys(side.table.name for side in self.sides))

    @property
    def read_at(self) -> At:
        """The versions that the run reads, and their bytes."""
        return tuple((side.pin.version, side.table.size) for side in self.sides)

    @property
    def copied(self) -> Sql:
        """The columns that are read of such a row, wherever it stands: those of each side."""
        return identifiers([name for side in self.placed for name in names_beside(*side)])

    @property
    def where(self) -> str:
        """The conditions as one; all rows where there are none."""
        # sql: conditions that sqlglot wrote
        return " AND ".join(f"({one})" for one in self.conditions) or "true"

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties of a copy whose columns may have names that files do not take."""
        modes = (side.table.properties.get(MAPPING, "none") for side in self.sides)
        return {} if all(mode == "none" for mode in modes) else {MAPPING: "name"}

    @property
    def told(self) -> str:
        """The description in its table's properties, as JSON."""
        first, *others = (
            {"source": side.table.name, "table_id": side.table.table_id} for side in self.sides
        )
        said = {**first, "conditions": self.conditions}
        return json.dumps({**said, "joined": others} if others else said)


def names_beside(prefix: str, side: MemorySide) -> tuple[str, ...]:
    """Return the names of a side's columns; the id, which each side of a pair has, is last."""
    names = [column.name for column in (side.table.columns if prefix else side.columns)]
    return tuple(prefix + name for name in [*names, *([REMEMBERED_ID] if prefix else [])])


def arrival_beside(prefix: str, side: MemorySide) -> Column:
    """Return the side's arrival column under its name in the memory."""
    return replace(side.arrival, name=prefix + side.arrival.name)


def _hashed(said: Iterable[str]) -> str:
    """Return a hash of these texts."""
    text = "\n".join(f"{len(one)} {one}" for one in said)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
