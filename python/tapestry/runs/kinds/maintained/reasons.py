"""Reasons to compute the whole answer and not only the changes (maintained, section 7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tapestry.errors import TapestryError


class Reason(Enum):
    """A name that is logged with a run, and its text for people."""

    FIRST_RUN = "there is no table yet"
    ASKED = "it was asked for"
    QUERY_CHANGED = "the query is another one"
    SETTINGS_CHANGED = "the session, or the model's configuration, gives answers otherwise"
    SCHEMA_CHANGED = "a column that is read or shown has changed"
    HISTORY_GONE = "a source can no longer be read as the last run read it"
    UNCOMPARABLE_TYPE = "a column has values that are not compared (MAP, VARIANT)"
    TIME_FUNCTION = "when the clock changes a value cannot be foretold"
    NO_KEY = "no columns tell which rows a change can reach"
    ALL_KEYS = "a change reaches all rows"
    INEXACT = "a sum of DOUBLEs, or what depends on the order of rows, decides more than it shows"
    NOT_TAKEN_APART = "the query has a form that is not taken apart"
    SMALL = "all that it reads is small: to compare versions would cost more"
    SMALL_TABLE = "the table is small beside what is read for it: to find its keys would cost more"
    TARGET_CHANGED = "somebody else wrote to the table"
    COSTS_MORE = "runs by what changed took longer than runs by the whole answer"
    CHANGE_TOO_LARGE = "so much has changed that the whole answer costs less"


@dataclass(frozen=True)
class Whole:
    """The whole answer is computed, for a reason; ``detail`` names what it is about."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"full: {self.reason.name}"


class NotIncremental(TapestryError):
    """A model that says ``refresh: incremental`` cannot be kept so in this run."""
