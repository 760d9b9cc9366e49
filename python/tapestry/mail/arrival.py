"""Finds when a message arrived at the server, by the best clock that it carries."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, NamedTuple

from tapestry.mail.dates import NO_ZONE, Date, read_date
from tapestry.mail.decode import plain
from tapestry.mail.doubts import Doubt, doubts_of_date
from tapestry.mail.headers import Headers
from tapestry.mail.lexical import without_comments

Clock = Literal["Received", "From_", "Date", "none"]

_CTIME = re.compile(
    rb"((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+\w{3}\s+\d+\s+\d+:\d+.*?)(?:\s+remote from .*)?$",
    re.IGNORECASE,
)


class Arrival(NamedTuple):
    """An instant, the clock that told it, and what is wrong with this and the better clocks."""

    instant: datetime | None
    clock: Clock
    doubts: tuple[Doubt, ...] = ()


def find_arrival(headers: Headers, from_line: bytes = b"") -> Arrival:
    """The instant, and the clock that told it.

    First the topmost Received header, which the last server wrote; then the mbox's From_ line;
    then the sender's own Date. A clock that cannot be read gives way to the next, which is said.
    What is wrong with the Date is left to `sender_date`.
    """
    doubts: list[Doubt] = []
    if "received" in headers:
        found = read_date(without_comments(plain(headers["received"])).rpartition(";")[2])
        doubts += doubts_of_date("the time of its Received header", found)
        if found.instant:
            return Arrival(found.instant, "Received", tuple(doubts))
    found = read_from_line(from_line)
    doubts += doubts_of_date("the time of its From line", found)
    if found.instant:
        return Arrival(found.instant, "From_", tuple(doubts))
    instant = sender_date(headers).instant
    return Arrival(instant, "Date" if instant else "none", tuple(doubts))


def sender_date(headers: Headers) -> Date:
    """Return the date in the Date header, if it can be read; no doubt if there is none."""
    text = plain(headers.get("date", b""))
    return read_date(text) if text.strip() else Date(None)


def read_from_line(line: bytes) -> Date:
    """The date at the end of an mbox's From_ line, if there is one; its zone is UTC, if not said.

    >>> read_from_line(b"From joe@parc.example Thu Jan  3 04:05:06 1991").instant.isoformat()
    '1991-01-03T04:05:06+00:00'
    """
    found = _CTIME.search(line.strip())
    if not found:
        return Date(None)
    date = read_date(plain(found.group(1)))
    return Date(date.instant) if date.doubt == NO_ZONE else date
