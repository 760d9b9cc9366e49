"""The keys of a derived table: those of any kind that it has."""

from __future__ import annotations

from tapestry.runs.model.keys import ConfigKey, KindKeys
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import choice

KEYS = KindKeys(
    (
        ConfigKey(
            "on_target_change",
            choice("accept", "fail"),
            "What to do when somebody else wrote to the table. `accept`: nothing, for its actions"
            " do. `fail`: stop.",
        ),
        COMMON["deterministic_functions"],
        COMMON["every"],
        COMMON["priority"],
    )
)
"""All of them."""
