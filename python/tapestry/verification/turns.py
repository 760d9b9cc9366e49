"""Turns: the ranges of the driving table that the n-th run checks.

Time is cut into cells of a power of two of microseconds, so that a cell stays the same from run to
run; the n-th run takes the cells whose number is n modulo the number of turns. Nothing has to be
remembered, and after N runs every row has had its turn (after 2 N where the history has doubled in
between, since the cells then do too). What arrived in the run's own window takes turns by itself,
and so does what became ripe in it (``verification.ripe``): new answers are likeliest there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from tapestry.instants import EPOCH, MICRO, micros
from tapestry.verification.restriction import Range

SHARE_OF_WINDOW = 8
"""A run looks at one part in so many of what arrived in its window, and became ripe in it."""
EARLIEST = datetime(1, 1, 2, tzinfo=timezone.utc)
"""Before every timestamp that a zone can make of the first day there is."""


def turns_of(share: float) -> int:
    """Return the number of runs after which every row has been checked."""
    return max(1, round(1 / share))


def turn(
    n: int,
    turns: int,
    low: datetime,
    tau: datetime | None,
    t: datetime,
    ripe: Sequence[Range] = (),
) -> tuple[Range, ...]:
    """Return the ranges ``[from, to)`` of the n-th run, for a history that begins about ``low``.

    >>> at = lambda hour: datetime(2026, 1, 1, hour, tzinfo=timezone.utc)
    >>> len({r for n in range(8) for r in turn(n, 8, at(0), None, at(9))})
    16
    """
    first, last = micros(low), max(micros(low), micros(t))
    bits = 0
    while (last >> bits) - (first >> bits) + 1 > 2 * turns:
        bits += 1
    cells = range(first >> bits, (last >> bits) + 1)
    ranges = [_cell(cell, bits, cell == cells[0]) for cell in cells if cell % turns == n % turns]
    if tau is not None and tau < t:
        ranges += [_part(n, *whole) for whole in ((tau + MICRO, t + MICRO), *ripe)]
    return tuple(range_ for range_ in ranges if range_[0] < range_[1])


def _part(n: int, low: datetime, high: datetime) -> Range:
    """Return the part of a range that the n-th run checks."""
    step = max((high - low) // SHARE_OF_WINDOW, MICRO)
    begin = low + step * (n % SHARE_OF_WINDOW)
    is_last = n % SHARE_OF_WINDOW == SHARE_OF_WINDOW - 1
    return begin, high if is_last else begin + step


def _cell(cell: int, bits: int, is_first: bool) -> Range:
    low, high = (EPOCH + timedelta(microseconds=number << bits) for number in (cell, cell + 1))
    return (EARLIEST if is_first else low), high
