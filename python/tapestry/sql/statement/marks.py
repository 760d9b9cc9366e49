"""Marks in a rendered text for instants that are filled in later, and free names for CTEs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256

from tapestry.instants import MICRO
from tapestry.sql import timing

TAU, T = timing.mark("tau"), timing.mark("t")
"""Stand for the window's ends in a rendered body."""


def since_of(source: str) -> str:
    """Return the mark for the instant before the ts of all rows of a source that arrive after
    tau.
    """
    return timing.mark(f"since {sha256(source.encode()).hexdigest()[:16]}")


def filled_in(
    text: str,
    tau: datetime | str | None,
    t: datetime | str,
    late_from: Mapping[str, datetime],
) -> str:
    """Return the text with the window's ends and instants before late rows (``Scan.late_from``)."""
    if tau is not None:
        text = text.replace(TAU, timing.text_of(tau))
    for source, least in late_from.items():
        assert isinstance(tau, datetime)
        text = text.replace(since_of(source), timing.text_of(min(tau, least - MICRO)))
    return text.replace(T, timing.text_of(t))


def unused(wanted: str, taken: Iterable[str]) -> str:
    """Return a free name for a CTE, as names are not quoted in texts."""
    # sql: letters, digits and _ are left
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
    while name in taken:
        name += "_"
    return name
