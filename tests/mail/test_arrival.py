"""Which clock tells when a message arrived, and what is no clock at all."""

from __future__ import annotations

import pytest

from tapestry.mail.arrival import find_arrival, read_from_line
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
    found = find_arrival(pick_headers(headers + b"\n").headers, from_line)
    told = found.instant.isoformat() if found.instant else None
    assert (told, found.clock) == (instant, clock)
    assert bool(found.doubts) == (b"Received: by c" in headers)  # whose times are none


@pytest.mark.parametrize(
    "line",
    [
        b"From joe Thu Jan  3 05:06:07 1991 remote from parc",
        b"From - Thu Jan 03 05:06:07 +0000 1991",
        b"From joe@parc.example Thu Jan  3 05:06:07 1991",
        b"From joe at parc.example  Thu Jan  3 05:06:07 1991\r",
        b"From joe@parc.example Thu Jan 3 06:06:07 +0100 1991",
        b"From joe@parc.example Thu Jan 3 05:06:07 GMT 1991",
        b"From joe@parc.example Thu Jan  3 00:06:07 1991 -0500",
    ],
)
def test_spellings_of_from_lines(line: bytes) -> None:
    instant = read_from_line(line).instant
    assert instant is not None
    assert instant.isoformat() == "1991-01-03T05:06:07+00:00"


@pytest.mark.parametrize(
    ("received", "instant"),
    [
        (b"from a by b; Thu, 3 Jan 1991 04:05:06 +0000 (x; y)", "1991-01-03T04:05:06+00:00"),
        (b"from (HELO a (b by c; Thu, 3 Jan 1991 04:05:06 GMT (UTC)", "1991-01-03T04:05:06+00:00"),
        (b"from a (b; c) by d;\n " + b" " * 2_000 + b"Thu, 3 Jan 1991 04:05:06 +0000",
         "1991-01-03T04:05:06+00:00"),
        (b"from a by b; Thu, 3 Jan 1991 04:05:06 +0000; Fri", None),
    ],
)  # fmt: skip
def test_the_time_of_a_received_header(received: bytes, instant: str | None) -> None:
    found = find_arrival({"received": received})
    assert (found.instant.isoformat() if found.instant else None) == instant
    assert [doubt.kind for doubt in found.doubts] == ([] if instant else ["dates"])
