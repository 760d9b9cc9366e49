"""The states of a run after it is planned (see the folder's head)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapestry.errors import TapestryError
from tapestry.runs.checks.checks import Findings
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.tables.target import Commit


@dataclass(frozen=True)
class Claimed:
    """Its n is this run's, or is being claimed.

    sure
        Waits for the claim; raises ClaimLostError where n is another run's.
    """

    planned: Planned
    sure: Callable[[], None]


@dataclass(frozen=True)
class Checked:
    """It is claimed for sure, and every check is passed: ``statement`` commits its rows."""

    planned: Planned
    found: Findings
    statement: str


@dataclass(frozen=True)
class Failed:
    """It is claimed for sure, and a check has failed: it commits nothing, and is closed."""

    planned: Planned
    found: Findings
    error: TapestryError


@dataclass(frozen=True)
class Committed:
    """Its statement was executed; that it was not skipped is yet to be seen."""

    planned: Planned
    found: Findings


@dataclass(frozen=True)
class Confirmed:
    """Its rows, and the fact that it wrote them, are durable.

    commit
        That of n; None: the log no longer tells.
    """

    planned: Planned
    found: Findings
    commit: Commit | None
