"""Dates of headers: read as a whole, with what was assumed; what could be two instants is none."""

from __future__ import annotations

import pytest

from tapestry.mail.dates import NO_ZONE, read_date

THEN = "2022-05-06T12:55:49+00:00"
"""A Friday."""


def _read(text: str) -> tuple[str | None, str]:
    found = read_date(text)
    return (found.instant.isoformat() if found.instant else None), found.doubt


@pytest.mark.parametrize(
    "text",
    [
        "Fri, 6 May 2022 14:55:49 +0200", "Fri, 06 May 2022 08:55:49 EDT", "6 may 22 12:55:49 UT",
        "fri,6 MAY 2022 12:55:49 z", "Friday, 06-May-22 12:55:49 GMT", "06-MAY-2022 12:55:49 UTC",
        "6/May/2022 12:55:49 GMT", "Fri May  6 12:55:49 2022 +0000", "Fri May 6 05:55:49 PDT 2022",
        "Fri May  6 14:55:49 +0200 2022", "6 May 122 12:55:49 GMT", "May 6, 2022 12:55:49 PM GMT",
        "Friday, May 6, 2022 at 12:55:49 PM GMT", "Fri, 6 May 2022 02:55:49 PM +0200",
        "2022-05-06T12:55:49Z", "2022-05-06 14:55:49.000000+02:00", "2022/05/06 12:55:49,0 UTC",
        "2022-05-06T14:55:49+02", "6 May 2022 14.55.49 +0200", "6 May 2022 14:55:49 GMT+0200",
        "6 May 2022 05:55:49 -0700 PDT", "6 May 2022 14:55:49 CEST", "6 May 2022 14:55:49 MET DST",
        "6 May 2022 07:55:49 EST -0500", "6. May 2022 12:55:49 -0000",
        "Do, 6 May 2022 21:55:49 JST",
        "Fri (a (b)), 6 (c\\)) May 2022 14:55:49 +0200 (CEST; (x))", "6 May 2022 14:55:49+0200",
        "Fri,\r\n 6 May 2022\r\n\t14:55:49 +0200", "7 May 2022 02:55:49 +1400",
    ],
)  # fmt: skip
def test_spellings_of_an_instant(text: str) -> None:
    assert _read(text) == (THEN, "")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("6 May 2022 14:55 GMT", "2022-05-06T14:55:00+00:00"),
        ("2022-05-06 14:55:49.25Z", "2022-05-06T14:55:49.250000+00:00"),
        ("Sat, 31 Dec 2016 23:59:60 +0000", "2017-01-01T00:00:00+00:00"),
        ("31 Dec 2016 23:59:60 +0000", "2017-01-01T00:00:00+00:00"),
        ("29 February 00 1:00 GMT", "2000-02-29T01:00:00+00:00"),
        ("6 Sept 49 12:00:00 AM GMT", "2049-09-06T00:00:00+00:00"),
        ("6 June 70 1:00 GMT", "1970-06-06T01:00:00+00:00"),
        ("31 Dec 9998 23:59:59 +0000", "9998-12-31T23:59:59+00:00"),
    ],
)
def test_edges_of_what_is_a_date(text: str, instant: str) -> None:
    assert _read(text) == (instant, "")


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("06-MAY-2022 12:55:49", NO_ZONE),
        ("Fri May  6 12:55:49 2022", NO_ZONE),
        ("2022-05-06T12:55:49", NO_ZONE),
        ("6 May 2022 12:55:49 PM", NO_ZONE),
        # RFC 5322, section 4.3: nobody knows what was meant by a single letter but Z
        ("6 May 2022 12:55:49 A", "has the zone A, which is not known, and counts as UTC"),
        ("6 May 2022 12:55:49 BST", "has the zone BST, which is not known, and counts as UTC"),
        ("6 May 2022 12:55:49 GMT Daylight Time",
         "has the zone GMT DAYLIGHT TIME, which is not known, and counts as UTC"),
        ("6 May 2022 14:55:49 EST +0200",
         "has the zone EST +0200, which are two: the number counts"),
        ("6 May 2022 14:55:49 +0200 GMT",
         "has the zone +0200 GMT, which are two: the number counts"),
        ("Fri May 6 08:55:49 EST 2022 -0400",
         "has the zone EST -0400, which are two: the number counts"),
        ("Thu, 6 May 2022 12:55:49 GMT", "names another day of the week than it falls on"),
        ("Thursday, 06-May-22 12:55:49 GMT", "names another day of the week than it falls on"),
    ],
)  # fmt: skip
def test_what_is_assumed_is_said(text: str, doubt: str) -> None:
    assert _read(text) == (THEN, doubt)


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "12", "\ud800", "6 May 2022", "2022-05-06", "1651848949", "20220506T145549Z",
        # the day or the month, and other languages
        "05/06/2022 14:55:49 +0000", "6-5-2022 14:55:49 +0000", "05-06-22 14:55 +0000",
        "6 mai 2022 14:55:49 +0000", "6 marraskuu 2022 10:00:00 +0000", "6 Mart 2022 10:00 +0000",
        # no such time or zone
        "31 Dec 2016 24:00:00 +0000", "6 May 2022 14:55:61 +0000", "6 May 2022 14:60 +0000",
        "30 Feb 2022 14:55 +0000", "0 May 2022 14:55 +0000", "99 Jan 1991 00:00:00 +0000",
        "6 May 2022 13:55:49 PM +0000", "6 May 2022 00:55:49 AM +0000", "2022-13-06 14:55:49Z",
        "6 May 2022 14:55:49 +9999", "6 May 2022 14:55:49 +1401", "6 May 2022 14:55:49 +0260",
        "6 May 2022 14:55:49 +9999999", "6 May 2022 14:55:49 EST5EDT", "6 May 2022 14:55:49 +200",
        "6 May 2022 14:55:49 +0200 PM", "6 May 2022 14:55:49 PM PM", "6 May 2022 14:55:49 +0200 12",
        # years
        "6 May 0000 14:55:49 +0000", "31 Dec 9999 23:59:59 -1200", "31 Dec 9999 23:59:59 +0000",
        "1 Jan 1970 00:30:00 +0100", "3 Jan 1901 00:00:00 +0000", "6 May 50 14:55:49 GMT",
        "6 May 2 14:55:49 GMT", "6 May 983 14:55:49 GMT", "6 May 12022 14:55:49 GMT",
        "6 May 99999999999 14:55 GMT",
        # cut, doubled, in other digits
        "6 May 2022 14:5", "6 May 2022 14:", "6 May 2022 6 May 2022 14:55:49 +0000",
        "6 May 2022 14:55:49 +0000; 7 May 2022", "\u0666 May 2022 14:55:49 +0000",
        "6 May 2022 14:55:49 +0000" + " x" * 50,
    ],
)  # fmt: skip
def test_what_is_no_date_is_none_and_that_is_said(text: str) -> None:
    instant, doubt = _read(text)
    assert instant is None
    assert doubt


def test_white_space_and_comments_hide_no_date() -> None:
    comment = "(" + "x" * 5_000 + ")"
    assert _read(f"{' ' * 5_000}Fri, {comment} 6 May 2022 14:55:49 +0200 {comment}") == (THEN, "")
