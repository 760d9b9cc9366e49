"""Points at which tests kill a run, to see that nothing is lost and nothing comes twice."""

from __future__ import annotations

import os
import signal
from typing import Final

ENVIRONMENT: Final = "TAPESTRY_CRASH_AT"

POINTS: Final = (
    "planned",  # the plan is made, nothing is written
    "claimed",  # the state row stands
    "before_written",  # the kept tables of late rows are filled
    "ready",  # all checks are passed, an old generation is closed
    "committed",  # the target's commit has landed, nobody knows
    "confirmed",  # the run is over but for what comes after it
)
"""Every step of a run between two things that it makes durable."""

CHECKED_POINTS: Final = (
    "staged",  # the new rows are staged
    "rejected",  # they are checked, the rejected ones are kept
)
"""The steps of a run that has something to check on its new rows."""

ACTION_POINTS: Final = (
    "batches_claimed",  # the round of an action is claimed
    "batches_executed",  # its statements have landed, nobody knows
    "batches_noted",  # the round is over
)
"""The steps of a run of an action."""

REMOVAL_POINTS: Final = (
    "removal_noted",  # how far the rows of a rule go is noted
    "rows_removed",  # those of its own table are gone
)
"""The steps of removing rows that all actions are done with."""


def point(name: str) -> None:
    """Kill the process, as by ``kill -9``, if the environment names this point; else nothing."""
    assert name in POINTS + CHECKED_POINTS + ACTION_POINTS + REMOVAL_POINTS
    if os.environ.get(ENVIRONMENT) == name:
        os.kill(os.getpid(), signal.SIGKILL)
