"""When a message arrived at the server: the best clock that it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Literal

from tapestry.mail.headers import Headers

Clock = Literal["Received", "From_", "Date", "none"]

_EARLIEST, _LATEST = 1970, 9998
_LONGEST = 1000
"""Characters of a date that are looked at; all that may follow one is a comment."""
_CTIME = re.compile(
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+(\w{3}\s+\d+\s+\d+:\d+(?::\d+)?.*)$", re.IGNORECASE
)


def find_arrival(headers: Headers, from_line: bytes = b"") -> tuple[datetime | None, Clock]:
    """The instant, and the clock that told it.

    First the topmost Received header, which the last server wrote; then the mbox's From_ line;
    then the sender's own Date. A clock that cannot be read gives way to the next.
    """
    instant = parse_date(_text(headers, "received").rpartition(";")[2])
    if instant:
        return instant, "Received"
    instant = parse_from_line(from_line)
    if instant:
        return instant, "From_"
    instant = sender_date(headers)
    return (instant, "Date") if instant else (None, "none")


def sender_date(headers: Headers) -> datetime | None:
    """What the Date header says, if it can be read."""
    return parse_date(_text(headers, "date"))


def parse_date(text: str) -> datetime | None:
    """A date of a header in UTC; without a zone it counts as UTC; None where it is no date.

    >>> parse_date("Fri, 26 Apr 2019 16:12:48 -0700").isoformat()
    '2019-04-26T23:12:48+00:00'
    >>> parse_date("yesterday") is None
    True
    """
    text = " ".join(text[:_LONGEST].split())
    try:
        instant = parsedate_to_datetime(text)
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=timezone.utc)
        instant = instant.astimezone(timezone.utc)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return instant if _EARLIEST <= instant.year <= _LATEST else None


def parse_from_line(line: bytes) -> datetime | None:
    """The date at the end of an mbox's From_ line, which has no zone: UTC.

    >>> parse_from_line(b"From joe@parc.example Thu Jan  3 04:05:06 1991").isoformat()
    '1991-01-03T04:05:06+00:00'
    """
    match = _CTIME.search(line.strip())
    if not match:
        return None
    words = match.group(1).decode("ascii", "replace").split()
    for spelling in _spellings(words):
        instant = parse_date(spelling)
        if instant:
            return instant
    return None


def _spellings(words: list[str]) -> Iterator[str]:
    """`Jan 3 04:05:06 1991`, with a zone before the year or after it, as a header would say it."""
    month, day, clock, *rest = words
    years = [word for word in rest if word.isdigit() and len(word) == 4]
    zones = [word for word in rest if word not in years]
    for year in years[:1]:
        for zone in [*zones[:1], "+0000"]:
            yield f"{day} {month} {year} {clock} {zone}"


def _text(headers: Headers, name: str) -> str:
    return headers.get(name, b"").decode("ascii", "replace")
