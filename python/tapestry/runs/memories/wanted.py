"""What a memory would hold: which rows of which source, as one session reads them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tapestry.names import MEMORY_PREFIX
from tapestry.quoting import Sql, identifiers
from tapestry.runs.sources.describe import REMEMBERED_ID, DeltaSource
from tapestry.runs.sources.pins import Pin
from tapestry.sql.catalog import Column

FORM = 2
"""The form of what is kept: another one is another table."""


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

    @property
    def signature(self) -> str:
        """A hash of all that says which rows a version of the source has here, and how.

        A source that is made anew, or has other columns, is another one.
        """
        columns = [f"{column.name} {column.type}" for column in self.table.columns]
        rows = (self.table.table_id, str(self.table.row_tracking), *columns)
        said = (str(FORM), *rows, self.arrival.name, *self.session, *self.conditions)
        text = "\n".join(f"{len(one)} {one}" for one in said)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def name(self) -> str:
        """The table that holds them."""
        return f"{self.schema}.{MEMORY_PREFIX}{self.signature}"

    @property
    def copied(self) -> Sql:
        """The columns that are read of such a row, wherever it stands: the source's, and its id."""
        ids = [REMEMBERED_ID] if self.table.row_tracking else []
        return identifiers([*(column.name for column in self.table.columns), *ids])

    @property
    def where(self) -> str:
        """The conditions as one; all rows where there are none."""
        # sql: conditions that sqlglot wrote
        return " AND ".join(f"({one})" for one in self.conditions) or "true"
