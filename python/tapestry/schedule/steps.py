"""The instants of a replay: pure, so that they can be tested without a clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import show


@dataclass(frozen=True)
class Steps:
    """``since``, then one instant every ``step``, then ``until``, be it on that grid or not.

    Raises ConfigurationError where that is nothing.

    >>> from datetime import timezone
    >>> first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> [t.day for t in Steps(first, first + timedelta(days=8), timedelta(days=3)).instants()]
    [1, 4, 7, 9]
    """

    since: datetime
    until: datetime
    step: timedelta

    def __post_init__(self) -> None:
        if self.until < self.since:
            raise ConfigurationError(
                f"--to {show(self.until)} lies before --from {show(self.since)}",
                hint="give an earlier --from",
            )
        if self.step <= timedelta(0):
            raise ConfigurationError("--step is zero", hint="write it like 1d or '6 hours'")

    def __len__(self) -> int:
        whole, rest = divmod(self.until - self.since, self.step)
        return int(whole) + 1 + bool(rest)

    def instants(self) -> Iterator[datetime]:
        """The ends of the windows, in order."""
        for number in range(len(self) - 1):
            yield self.since + number * self.step
        yield self.until


@dataclass(frozen=True)
class ReplayStep:
    """The result of one step: its window, new rows by model, seconds of `dbt run`."""

    number: int
    since: datetime | None
    until: datetime
    new: Mapping[str, int]
    seconds: float
