"""Which clock tells when a message arrived, and what is no clock at all."""

from __future__ import annotations

import pytest

from tapestry.mail.arrival import find_arrival, parse_date, parse_from_line
from tapestry.mail.headers import pick_headers

RECEIVED = b"Received: from b by c; Fri, 4 Jan 1991 10:00:00 +0100\n"
OLDER = b"Received: from a by b; Thu, 3 Jan 1991 04:05:06 +0000\n"
DATE = b"Date: Wed, 2 Jan 1991 01:02:03 -0500\n"
FROM = b"From joe@parc.example Thu Jan  3 05:06:07 1991"


@pytest.mark.parametrize(
    ("headers", "from_line", "instant", "clock"),
    [
        (RECEIVED + OLDER + DATE, FROM, "1991-01-04T09:00:00+00:00", "Received"),
        (b"Received: by c; soon\n" + OLDER + DATE, FROM, "1991-01-03T05:06:07+00:00", "From_"),
        (b"Received: by c\n" + DATE, b"", "1991-01-02T06:02:03+00:00", "Date"),
        (DATE, b"From nobody", "1991-01-02T06:02:03+00:00", "Date"),
        (b"Date: soon\n", b"From x", None, "none"),
        (b"Subject: x\n", b"", None, "none"),
    ],
)  # fmt: skip
def test_the_best_clock_wins(
    headers: bytes, from_line: bytes, instant: str | None, clock: str
) -> None:
    found, told = find_arrival(pick_headers(headers + b"\nbody\n")[0], from_line)
    assert (found.isoformat() if found else None, told) == (instant, clock)


@pytest.mark.parametrize(
    "line",
    [
        b"From joe@parc.example Thu Jan  3 05:06:07 1991",
        b"From joe at parc.example  Thu Jan  3 05:06:07 1991\r",
        b"From joe@parc.example Thu Jan 3 06:06:07 +0100 1991",
        b"From joe@parc.example Thu Jan 3 05:06:07 GMT 1991",
        b"From joe@parc.example Thu Jan  3 00:06:07 1991 -0500",
    ],
)
def test_spellings_of_from_lines(line: bytes) -> None:
    instant = parse_from_line(line)
    assert instant is not None
    assert instant.isoformat() == "1991-01-03T05:06:07+00:00"


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "Thu, 99 Jan 1991 00:00:00 +0000", "Thu, 3 Jan 1901 00:00:00 +0000",
     "Thu, 3 Jan 1991 25:00:00 +0000", "Thu, 3 Jan 1991 00:00:00 +9999999", "\ud800", "12"],
)  # fmt: skip
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_date(text) is None
