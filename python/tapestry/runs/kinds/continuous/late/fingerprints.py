"""A stored count of rows: the last means to prove that a source is unchanged.

A count alone proves that no late row came to a source that only grows. With a checksum (the sum
of the rows' 64-bit hashes) it also shows, but for a collision, that no row was exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.quoting import timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.contents import keys
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class Fingerprint:
    """The number of rows with ts <= τ (static sources: of all rows), and their checksum."""

    rows: int
    checksum: str | None = None

    def same_as(self, other: Fingerprint) -> bool:
        """Return whether counts are equal, and checksums where both have one."""
        sums = {self.checksum, other.checksum} - {None}
        return self.rows == other.rows and len(sums) <= 1


def fingerprint(
    session: Session,
    table: DeltaSource,
    version: int,
    arrival: Column | None,
    until: datetime | None,
) -> Fingerprint:
    """Read one version of a source whole and condense the rows with ts <= ``until``."""
    where = ""
    if arrival is not None and until is not None:
        where = f" WHERE {arrival_sql(arrival)} <= {timestamp(until)}"
    digest = f"xxhash64({', '.join(keys(table.columns))})"
    row = session.rows(
        f"SELECT count(*), CAST(sum(CAST({digest} AS DECIMAL(38, 0))) AS STRING)"
        f" FROM {table.at(version)}{where}"
    )[0]
    return Fingerprint(int(row[0]), str(row[1]))
