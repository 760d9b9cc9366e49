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
    """A run whose n is claimed, or will be by its commit.

    sure
        Claims n before that, for a run that fails; raises ClaimLostError where it is another's.
    """

    planned: Planned
    sure: Callable[[], None]


@dataclass(frozen=True)
class Checked:
    """A run that has passed every check: ``statement`` commits its rows."""

    planned: Planned
    found: Findings
    statement: str


@dataclass(frozen=True)
class Failed:
    """A run that is certainly claimed and failed a check: it commits nothing, and is closed."""

    planned: Planned
    found: Findings
    error: TapestryError


@dataclass(frozen=True)
class Committed:
    """A run whose statement was executed; whether it was skipped is not known yet."""

    planned: Planned
    found: Findings


@dataclass(frozen=True)
class Confirmed:
    """A run whose rows, and the fact that it wrote them, are durable.

    commit
        The commit of n; None: the log no longer tells.
    """

    planned: Planned
    found: Findings
    commit: Commit | None
