"""What a memory would hold: which rows of which source, as one session reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from tapestry.names import MEMORY_PREFIX
from tapestry.quoting import Sql, identifiers
from tapestry.runs.memories.records import Records
from tapestry.runs.sources.describe import REMEMBERED_ID, DeltaSource
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column

FORM = 2
"""The form of what is kept: another one is another table."""
MAPPING = "delta.columnMapping.mode"
At = tuple[tuple[int, int], ...]
"""Of each source, a version and the bytes that it has there."""


class Remembered(Protocol):
    """What a memory may hold: rows of a source, or pairs of rows of two.

    schema
        Where memories lie: beside the state.
    """

    @property
    def schema(self) -> str: ...
    @property
    def conditions(self) -> tuple[str, ...]: ...
    @property
    def signature(self) -> str:
        """A hash of all that says which rows of which versions it has, and how."""

    @property
    def name(self) -> str:
        """The table that holds them."""

    @property
    def origins(self) -> tuple[DeltaSource, ...]: ...
    @property
    def read_at(self) -> At:
        """What the run reads of the sources."""

    @property
    def copied(self) -> Sql:
        """The columns that are read of such a row, wherever it stands."""

    @property
    def records(self) -> Records:
        """Which tables runs have built in the schema."""


def hashed(said: Iterable[str]) -> str:
    """The signature of what all of these texts say."""
    text = "\n".join(f"{len(one)} {one}" for one in said)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def memory_name(schema: str, signature: str) -> str:
    """The table of a memory."""
    return f"{schema}.{MEMORY_PREFIX}{signature}"


def told(wanted: Remembered) -> str:
    """What its table says of itself, as JSON."""
    first, *others = wanted.origins
    said: dict[str, object] = {
        "source": first.name,
        "table_id": first.table_id,
        "conditions": wanted.conditions,
    }
    if others:
        said["joined"] = [{"source": one.name, "table_id": one.table_id} for one in others]
    return json.dumps(said)


def named_freely(table: DeltaSource) -> Mapping[str, str]:
    """Properties of a copy whose columns may have names that files do not take."""
    return {} if table.properties.get(MAPPING, "none") == "none" else {MAPPING: "name"}


@dataclass(frozen=True)
class Wanted:
    """The rows of a source for which all of ``conditions`` hold.

    conditions
        SQL over the source's columns, sorted.
    schema
        Where memories lie: beside the state.
    session
        The time zone and the settings by which conditions mean something.
    """

    table: DeltaSource
    pin: Pin
    arrival: Column
    conditions: tuple[str, ...]
    schema: str
    session: tuple[str, ...]
    records: Records = field(default_factory=Records, compare=False, repr=False)

    @property
    def signature(self) -> str:
        """A hash of all that says which rows a version of the source has here, and how.

        A source that is made anew, or has other columns, is another one.
        """
        columns = [f"{column.name} {column.type}" for column in self.table.columns]
        rows = (self.table.table_id, str(self.table.row_tracking), *columns)
        return hashed((str(FORM), *rows, self.arrival.name, *self.session, *self.conditions))

    @property
    def name(self) -> str:
        """The table that holds them."""
        return memory_name(self.schema, self.signature)

    @property
    def origins(self) -> tuple[DeltaSource, ...]:
        """The one that it is of."""
        return (self.table,)

    @property
    def read_at(self) -> At:
        """The version that the run reads, and its bytes."""
        return ((self.pin.version, self.table.size),)

    @property
    def copied(self) -> Sql:
        """The columns that are read of such a row, wherever it stands: the source's, and its id."""
        ids = [REMEMBERED_ID] if self.table.row_tracking else []
        return identifiers([*(column.name for column in self.table.columns), *ids])

    def arrival_beside(self, side: str) -> Column:
        """Its arrival as it stands beside another's row."""
        return replace(self.arrival, name=side + self.arrival.name)

    @property
    def where(self) -> str:
        """The conditions as one; all rows where there are none."""
        # sql: conditions that sqlglot wrote
        return " AND ".join(f"({one})" for one in self.conditions) or "true"
