"""A line that is wrong hides no other, and is said; what was cut is not taken for whole."""

from __future__ import annotations

import io
import time

import pytest

from tapestry.mail.content import read_content
from tapestry.mail.headers import LONGEST, pick_headers
from tapestry.mail.limits import MIB, Limits, MailboxReading
from tapestry.mail.parse import parse_message


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        (b"no header", "line 2 is no header: it has no colon"),
        (b"no header\n of two lines", "line 2 is no header: it has no colon"),
        (b"--", "line 2 is no header: it has no colon"),
        (b": x", "line 2 is no header: it has no name"),
        (b"Reply To: c", "line 2 is no header: no name has such characters"),
        (b"S\xc3\xbcbject: c", "line 2 is no header: no name has such characters"),
        (b"\xff: c", "line 2 is no header: no name has such characters"),
        (b"Sub\0ject: c", "line 2 is no header: no name has such characters"),
        (b"\0", "line 2 is no header: it has no colon"),
        (b"From x Thu Jan  3 05:06:07 1991", "line 2 is no header but a From line of an mbox"),
        (b">From x Thu Jan  3 05:06:07 1991", "line 2 is no header but a From line of an mbox"),
        (b"X: y\rsubject: c", "line 2 ends with a carriage return alone"),
        (b"X: y\r", None),  # with the line end, as of DOS
        (b"X: y\r\r", None),
        (b"X : y", None),
        (b"X:", None),
        (b" folded", None),
        (b"\t", None),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n"])
def test_the_headers_after_a_wrong_line(line: bytes, doubt: str | None, end: bytes) -> None:
    picked = pick_headers(b"Subject: a" + end + line + end + b"From:x@y" + end + b"Date : d\n\n")
    assert {name: value.split()[0] for name, value in picked.headers.items()} == {
        "subject": b"a", "from": b"x@y", "date": b"d",
    }  # fmt: skip
    if (line + end).endswith(b"\r\r\r\n"):
        return
    second = ["line 3 is a second Subject: the first counts"] if b"subject" in line else []
    assert list(picked.doubts) == [*([doubt] if doubt else []), *second]


@pytest.mark.parametrize(
    ("begin", "doubts"),
    [
        (b" folded\n", ("line 1 is no header: it continues none",)),
        (b"From x Thu Jan  3 05:06:07 1991\n", ()),
        (b">From x Thu Jan  3 05:06:07 1991\n", ()),
        (b"From x\n folded\n", ()),
        (b"\xef\xbb\xbf", ()),
    ],
)
def test_what_stands_before_the_first_header(begin: bytes, doubts: tuple[str, ...]) -> None:
    picked = pick_headers(begin + b"Subject: a\n\n")
    assert (picked.headers, picked.doubts) == ({"subject": b" a\n"}, doubts)


@pytest.mark.parametrize(
    ("head", "subject", "doubts"),
    [
        (b"Subject: a\nSubject: b\n", b"a", ("line 2 is a second Subject: the first counts",)),
        (b"Subject: a\nsubject:\n a\n", b"a", ()),
        (b"Subject:\n \nSubject: b\nX:\n", b"b", ()),
        (b"Subject: a\nX:\nSUBJECT: b\n c\nSubject: d\n", b"a",
         ("line 3 is a second Subject: the first counts (and 1 more)",)),
        (b"Subject: a\nReceived: b\nReceived: c\n", b"a", ()),
    ],
)  # fmt: skip
def test_of_a_header_that_is_there_twice_the_first_counts(
    head: bytes, subject: bytes, doubts: tuple[str, ...]
) -> None:
    picked = pick_headers(head)
    assert (picked.headers["subject"].strip(), picked.doubts) == (subject, doubts)


def test_each_fault_is_said_once() -> None:
    began = time.process_time()
    for head in (b"a\n" * (MIB // 2), b"\r" * MIB, b"Subject: x\n" * 80_000,
                 b"Subject: " + b"a " * 33_000 + b"\n" + b"Subject: x\n" * 80_000):  # fmt: skip
        assert len(pick_headers(head).doubts) <= 1
    assert time.process_time() - began < 4
    assert pick_headers(b"a\n" * 3).doubts == ("line 1 is no header: it has no colon (and 2 more)",)


def test_headers_of_an_old_mac() -> None:
    picked = pick_headers(b"Subject: a\rX:\rFrom: b\r\rDate: c\r")
    assert set(picked.headers) == {"subject", "from"}
    assert picked.doubts == ("line 1 ends with a carriage return alone (and 1 more)",)


def test_headers_that_the_end_of_the_file_ends() -> None:
    picked = pick_headers(b"Subject: a\nDate: Fri, 6 May 2022 14:55")
    assert picked.headers["date"].strip() == b"Fri, 6 May 2022 14:55"
    assert picked.doubts == ("line 2 has no end: the message ends in it",)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r\n\r\r\n", b"\r\r\n\n", b"\n\r\r\n"])
def test_line_ends_of_all_kinds_end_the_headers(end: bytes) -> None:
    for size in (1, 2, 3, 1_000):
        stream = io.BytesIO(b"Subject: a" + end + b"Date: none\n")
        reading = MailboxReading()
        reading.read = lambda of, size=size: of.read(size)  # type: ignore[method-assign, misc]
        content = read_content(stream, reading)
        assert (content.head, content.body_bytes) == (b"Subject: a" + end, 11)
        assert pick_headers(content.head).doubts == ()


DATE = b"Date: Fri, 6 May 2022 14:55:49 +0200\n"


def test_a_header_that_is_cut_is_left_out_if_a_part_would_mislead() -> None:
    for head in (DATE, b"List-Id: Joe\n <joe@x.example>\n", b"From: joe@x.example\n"):
        for size in range(12, len(head)):
            limits = Limits(headers=len(b"Subject: a\n") + size)
            message = b"Subject: a\n" + head + b"X: y\n\n"
            parsed = parse_message(
                read_content(io.BytesIO(message), MailboxReading(limits)), "box", 0
            )
            assert parsed.cut
            assert (parsed.row.subject, parsed.row.newsgroup) == ("a", "box")
            assert (parsed.row.date, parsed.row.author) == (None, None)
    whole = read_content(io.BytesIO(DATE + b"\n" + b"x" * 99), MailboxReading(Limits(message=50)))
    parsed = parse_message(whole, "box", 0)
    assert parsed.long
    assert parsed.row.date is not None


def test_the_last_of_cut_references_is_no_answer() -> None:
    references = b"References:" + b" <1@b.example>\n" * (LONGEST // 10) + b"\n"
    row = parse_message(read_content(io.BytesIO(references), MailboxReading()), "box", 0).row
    assert row.inreplyto is None
    assert row.n_refs > 1_000
