"""Reads a date in a header as an instant, with doubts about it; an ambiguous one is none.

Python's ``email.utils.parsedate_to_datetime`` reads part of what is written and drops the rest in
silence: the ``PM`` of a time, a zone that it does not know, what follows a third word. Here a date
is read as a whole or not at all.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from tapestry.mail.lexical import without_comments

_EARLIEST, _LATEST = 1970, 9998
_LONGEST = 100
"""Characters of a date without its comments."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FARTHEST = timedelta(hours=14)
"""No clock of the world has been farther from UTC since 1970."""

# RFC 5322 (section 4.3) gives a meaning to the names of North America alone. Those of Europe and
# Japan are added that stand for one zone only; BST, IST and others stand for several.
_ZONES = {
    "UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7,
    "MDT": -6, "PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "WET DST": 1, "CET": 1, "CEST": 2,
    "MET": 1, "MEST": 2, "MET DST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "EET DST": 3,
    "JST": 9,
}  # fmt: skip

_DAY = r"(?:(?P<weekday>(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\s*[.,]*\s*|[a-z]+\.?,\s*)?"
_TIME = (
    r"(?P<hour>\d{1,2})(?:(?P<dot>[:.])(?P<minute>\d{2}))"
    r"(?:(?P=dot)(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?(?:\s?(?P<half>[AP]M)\b)?"
)
_ZONE = r"(?P<zone>.*)"
# Only whole names count: marraskuu, which begins with mar, is Finnish for November.
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        # RFC 5322 and 822; RFC 850 and VMS have - between the parts
        rf"{_DAY}(?P<day>\d{{1,2}})(?:\s*-\s*|\s*/\s*|\.?\s*){_MONTH},?"
        rf"(?:\s*-\s*|\s*/\s*|\s+)(?P<year>\d{{2,4}}),?\s+{_TIME}{_ZONE}",
        # the C function ctime, with a zone before or after the year
        rf"{_DAY}{_MONTH}\s+(?P<day>\d{{1,2}}),?\s+{_TIME}"
        rf"(?P<inner>(?:\s+[a-z]+|\s*[+-]\d{{4}}){{0,2}})\s+(?P<year>\d{{4}})\b{_ZONE}",
        # month, day, year
        rf"{_DAY}{_MONTH}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}}),?"
        rf"\s+(?:at\s+)?{_TIME}{_ZONE}",
        # ISO 8601 and RFC 3339
        rf"(?P<year>\d{{4}})(?P<dash>[-/])(?P<month>\d{{2}})(?P=dash)(?P<day>\d{{2}})(?:\s*T\s*|\s+)"
        rf"{_TIME}{_ZONE}",
    )
)
_OFFSET = re.compile(
    r"(?P<before>UTC|GMT|UT|[A-Z]{3,4}\s)?\s*"
    r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?(?:\s+(?P<after>[A-Z ]*))?",
    re.IGNORECASE | re.ASCII,
)
NO_ZONE = "has no zone, and counts as UTC"
_UNREADABLE = "is no date that can be read"
_HALF = re.compile(r"\b[AP]M\b", re.IGNORECASE)


class Date(NamedTuple):
    """An instant in UTC, or None where a text is none; ``doubt`` says what is wrong, if anything.

    With an instant, it says what was assumed.
    """

    instant: datetime | None
    doubt: str = ""


def read_date(text: str) -> Date:
    """The instant that a header names.

    Without a zone, and with a zone of an unknown name, a date counts as UTC (RFC 5322, section
    4.3), and that is said. Years of two and three digits are those of RFC 5322. A month that is a
    number is read only after a year of four digits: elsewhere it could be the day.

    >>> read_date("Fri, 26 Apr 2019 16:12:48 -0700").instant.isoformat()
    '2019-04-26T23:12:48+00:00'
    >>> read_date("06-MAY-2022 14:55:49")
    Date(instant=datetime.datetime(2022, 5, 6, 14, 55, 49, tzinfo=datetime.timezone.utc), \
doubt='has no zone, and counts as UTC')
    >>> read_date("05/06/2022 14:55:49 +0000")
    Date(instant=None, doubt='is no date that can be read')
    """
    text = " ".join(without_comments(text).split())
    short = text if len(text) <= _LONGEST else ""
    found = next((found for form in _FORMS if (found := form.fullmatch(short))), None)
    if found is None:
        return Date(None, _UNREADABLE)
    parts = found.groupdict()
    offset, doubt = _zone(f"{parts.get('inner') or ''} {parts['zone']}".strip())
    if offset is None:
        return Date(None, doubt)
    try:
        local = _local(parts)
        instant = (local - offset).replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        return Date(None, "names a day or a time that there is not")
    if not _EARLIEST <= instant.year <= _LATEST:
        return Date(None, f"is not between the years {_EARLIEST} and {_LATEST}")
    weekday = (parts.get("weekday") or "")[:3].lower()
    named = local - timedelta(seconds=parts["second"] == "60")  # the day before a leap second's end
    if weekday in _DAYS and _DAYS.index(weekday) != named.weekday():
        doubt = doubt or "names another day of the week than it falls on"
    return Date(instant, doubt)


def _local(parts: dict[str, str | None]) -> datetime:
    """Return the local time of a date; ValueError if no clock shows it."""
    hour = int(parts["hour"] or "")
    if half := (parts["half"] or "").lower():
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (half == "pm")
    second = int(parts["second"] or 0)
    # RFC 5322 knows leap seconds, and no clock that counts seconds since 1970 does: it shows the
    # next second.
    leap = second == 60
    month = (parts["month"] or "").lower()
    return datetime(
        _year(parts["year"] or ""),
        int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1,
        int(parts["day"] or ""),
        hour,
        int(parts["minute"] or ""),
        second - leap,
        int((parts["fraction"] or "0").ljust(6, "0")[:6]),
    ) + timedelta(seconds=leap)


def _year(digits: str) -> int:
    """RFC 5322, section 4.3: 00 to 49 are after 2000; three digits count from 1900.

    Programs wrote three digits after 1999; ``983`` is 1983 without a digit.
    """
    year = int(digits)
    if len(digits) == 3 and not 100 <= year < 200:
        raise ValueError(digits)
    if len(digits) == 2 and year < 50:
        return year + 2000
    return year + 1900 if len(digits) < 4 else year


def _zone(text: str) -> tuple[timedelta | None, str]:
    """Return a zone's offset from UTC, None if it is no zone; and an assumption or fault."""
    name = " ".join(text.upper().split())
    if not name:
        return timedelta(), NO_ZONE
    if name in _ZONES:
        return timedelta(hours=_ZONES[name]), ""
    if _HALF.search(name):
        return None, _UNREADABLE
    if name.replace(" ", "").isalpha():
        return timedelta(), f"has the zone {name[:20]}, which is not known, and counts as UTC"
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None, _UNREADABLE
    minutes = int(found["minutes"] or 0)
    offset = timedelta(hours=int(found["hours"]), minutes=minutes)
    if minutes > 59 or offset > _FARTHEST:
        return None, f"has the zone {name[:20]}, which there is not"
    offset = -offset if found["sign"] == "-" else offset
    # GMT+0200 is an offset from it; any other name is a second zone.
    before, after = (found["before"] or "").strip(), found["after"]
    for named in (before if before not in ("UTC", "GMT", "UT") else "", after):
        if named in _ZONES and timedelta(hours=_ZONES[named]) != offset:
            return offset, f"has the zone {name[:20]}, which are two: the number counts"
    return offset, ""
