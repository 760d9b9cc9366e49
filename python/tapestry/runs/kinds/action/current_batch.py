"""The batch that a function in Python is called for, as the function sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tapestry.errors import ConfigurationError


@dataclass(frozen=True)
class CurrentBatch:
    """A batch, for the function that is called with its rows.

    key
        The value of each column of `unique_on` as text, None for NULL; empty where the batch has
        no key.
    idempotency_key
        The same at each attempt, and different for each batch: a service that is given it can skip
        work that it has done already.
    attempt
        1 when the batch is executed first.
    release
        When it was due.
    reads
        Reads a bound table.
    """

    key: Mapping[str, str | None]
    idempotency_key: str
    attempt: int
    release: datetime
    reads: Callable[[str], Any]

    def bound(self, name: str) -> Any:
        """Return the rows of the batch in a bound table, by the table's name, as a dataframe.

        They are those of all rules of the action. Raises ConfigurationError for another name.
        """
        return self.reads(name)


CURRENT: ContextVar[CurrentBatch] = ContextVar("batch")
"""The batch of the thread that executes the function."""


def batch() -> CurrentBatch:
    """Return the batch that the function is called for.

    Raises ConfigurationError where no function of an action is called.
    """
    try:
        return CURRENT.get()
    except LookupError:
        raise ConfigurationError(
            "there is no batch here: an action's function is called with one",
            hint="call batch() in the function itself, and give others what they need of it; a"
            " function of Spark's Python processes, and a thread of your own, has none",
        ) from None
