"""The parameters by which a run reads the sources of a query, besides the form of its statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tapestry.sql.branches.join_order import NOT_KNOWN, JoinOrder
from tapestry.sql.branches.measured import Measured
from tapestry.sql.scan import JoinScan, Scan


@dataclass(frozen=True)
class QueryReading:
    """The scans of a query's sources, and the facts about them in one run.

    scans
        By source. ``apart``: by alias, the scans of uses that have one of their own; ``joined``:
        the same of two uses that are read joined.
    few
        The rows that the branches narrow their sources to are known to be few.
    joins
        In which order tables are joined.
    measured
        What was measured of the branches' rows, in the window that is filled in.
    """

    scans: Mapping[str, Scan] = field(default_factory=dict)
    apart: Mapping[str, Scan] = field(default_factory=dict)
    joined: Mapping[tuple[str, str], JoinScan] = field(default_factory=dict)
    few: bool = False
    joins: JoinOrder = NOT_KNOWN
    measured: Measured | None = None

    @property
    def little(self) -> bool:
        """Whether the sources are so small that no branch is worth its plan."""
        return all(scan.little for scan in self.scans.values())
