"""Determines the instant up to which an invocation runs (semantics, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo

from tapestry.errors import WindowError
from tapestry.runs.engine.instants import parse_instant, show

VARIABLE = "tapestry_as_of"
ENVIRONMENT = "TAPESTRY_AS_OF"
FAR = timedelta(days=1)
"""A given t so far beyond the clock would block a model until the clock gets there: warn."""
IDLE = timedelta(days=366)
"""No source had a commit for so long before t: more likely the clock is wrong."""


@dataclass(frozen=True)
class Clock:
    """The one instant of an invocation: given, or read from the clock once."""

    instant: datetime
    given: bool = False
    read_at: datetime | None = None
    """The instant that the real clock showed."""

    def t(self, lag: timedelta) -> datetime:
        """Return the end of a model's window: a given instant, or the clock's minus ``lag``."""
        return self.instant if self.given else self.instant - lag


def read_clock(
    variables: Mapping[str, object],
    environment: Mapping[str, str],
    now: datetime | None = None,
    zone: tzinfo = timezone.utc,
) -> Clock:
    """Return the clock of ``tapestry_as_of`` (a var, else the environment variable), or of now.

    Raises ConfigurationError where it is not an instant.
    """
    now = now or datetime.now(timezone.utc)
    for key, value in (
        (VARIABLE, variables.get(VARIABLE)),
        (ENVIRONMENT, environment.get(ENVIRONMENT)),
    ):
        if value is not None and str(value).strip():
            return Clock(parse_instant(value, key, zone), given=True, read_at=now)
    return Clock(now, read_at=now)


@dataclass(frozen=True)
class End:
    """The end of a window, and warnings about it; ``t=None``: there is no window."""

    t: datetime | None
    warnings: tuple[str, ...] = ()


def window_end(
    clock: Clock,
    lag: timedelta,
    tau: datetime | None,
    horizons: Mapping[str, datetime] | None = None,
) -> End:
    """Return t for one model, or None where the window is empty or the clock is before τ.

    ``horizons`` holds, for each continuous model upstream, the instant up to which its answers are
    complete: t never passes one, so no answer of it arrives late (semantics, section 3).
    Raises WindowError for a given t < τ.
    """
    wanted = clock.t(lag)
    t = min([wanted, *(horizons or {}).values()])
    if tau is None or t > tau:
        return End(t)
    if wanted >= tau or t == tau:
        return End(None)  # there already, or an upstream model has not got further
    if clock.given:
        raise WindowError(
            f"the window asked for ends at {show(wanted)}, but the last run went to {show(tau)}",
            hint=f"leave {VARIABLE} out or set a later one; --full-refresh starts again from it",
        )
    warning = f"the clock says {show(wanted)}, the last run went to {show(tau)}: nothing to do"
    return End(None, (warning,))


def far_ahead(clock: Clock, t: datetime, commits: Iterable[datetime]) -> tuple[str, ...]:
    """Return at most one warning: for a t so far ahead that it would block the model for long.

    ``commits`` are the newest commits of the sources, none where they are unknown. They show a
    clock that is wrong by years; a given t is compared with the clock, too.
    """
    given = clock.given and clock.read_at is not None and t > clock.read_at + FAR
    newest = max(commits, default=None)
    if not given and (newest is None or t <= newest + IDLE):
        return ()
    beyond = "the clock, which says" if newest is None else "every source's newest commit, of"
    known = clock.read_at if newest is None else newest
    assert known is not None
    return (
        f"the window ends at {show(t)}, far beyond {beyond} {show(known)};"
        " no earlier window can be run after this one",
    )
