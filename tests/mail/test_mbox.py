"""An mbox taken apart in one pass is what Python's own reader, which holds it whole, finds."""

from __future__ import annotations

import hashlib
import io
import mailbox
import os
import random
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapestry.mail.content import Content, read_content
from tapestry.mail.limits import Limits, MailboxReading
from tapestry.mail.mbox import split_mbox

PIECES = [b"From ", b"From x\n", b"\n", b"\n\n", b"\r\n", b"A: b\n", b">From ", b"F", b"text", b" "]
MANY = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


class _Slowly(io.BytesIO):
    """Gives few bytes at a time, so that everything is cut somewhere."""

    def __init__(self, content: bytes, seed: int) -> None:
        super().__init__(content)
        self._random = random.Random(seed)

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._random.choice([1, 2, 3, 5, 8, 20]))


def _by_the_library(content: bytes) -> list[tuple[bytes, str]]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        box = mailbox.mbox(file.name, create=False)
        whole = [box.get_bytes(key, from_=True).partition(b"\n") for key in box.keys()]  # noqa: SIM118
        box.close()
    return [(line, hashlib.sha256(text).hexdigest()[:24]) for line, _, text in whole]


@given(MANY, st.integers(0, 3))
def test_messages_are_those_of_the_library(content: bytes, seed: int) -> None:
    found = list(split_mbox(_Slowly(content, seed), MailboxReading()))
    assert [(one.from_line, one.digest) for one in found] == _by_the_library(content)
    assert found == list(split_mbox(io.BytesIO(content), MailboxReading()))


@given(MANY)
def test_pieces_make_no_difference_to_a_message(content: bytes) -> None:
    for limits in (Limits(), Limits(message=7), Limits(headers=7)):
        slowly = read_content(_Slowly(content, 1), MailboxReading(limits))
        assert slowly == read_content(io.BytesIO(content), MailboxReading(limits))


@pytest.mark.parametrize(
    ("content", "head", "body"),
    [
        (b"A: b\n\nbody", b"A: b\n\n", 4),
        (b"A: b\r\n\r\nbody", b"A: b\r\n\r\n", 4),
        (b"A: b\n\r\nbody\n\nmore", b"A: b\n\r\n", 10),
        (b"\nbody", b"\n", 4),
        (b"A: b\n", b"A: b\n", 0),
        (b"", b"", 0),
    ],
)
def test_where_the_headers_end(content: bytes, head: bytes, body: int) -> None:
    found = read_content(io.BytesIO(content), MailboxReading())
    assert (found.head, found.body_bytes, found.cut, found.long) == (head, body, False, False)


def test_headers_beyond_their_limit_are_cut_and_the_body_is_still_counted() -> None:
    found = read_content(
        io.BytesIO(b"A: " + b"x" * 50 + b"\n\nbody"), MailboxReading(Limits(headers=10))
    )
    assert found == Content(b"A: " + b"x" * 7, 4, found.digest, cut=True)


def test_a_message_beyond_its_limit_ends_there_and_the_next_one_is_whole() -> None:
    box = b"From a\nA: b\n\n" + b"x" * 5_000 + b"\nFrom b\nA: c\n\nbody\n"
    first, second = split_mbox(io.BytesIO(box), MailboxReading(Limits(message=100)))
    assert (first.body_bytes, first.long) == (94, True)
    assert (second.head, second.body_bytes, second.long) == (b"A: c\n\n", 5, False)


def test_a_from_line_without_end_is_kept_in_part() -> None:
    (found,) = split_mbox(
        _Slowly(b"From " + os.urandom(20_000).hex().encode(), 1), MailboxReading()
    )
    assert len(found.from_line) == 1024
    assert found.head == b""


@pytest.mark.parametrize(
    ("before", "count"),
    [
        (b"", 0),
        (b"\n\n", 0),
        (b"the end of a body\n", 18),
        (b"\xef\xbb\xbf", 0),
        (b"\n" * 99 + b"x\n", 101),
    ],
)
def test_what_stands_before_the_first_message_is_counted(before: bytes, count: int) -> None:
    for stream in (io.BytesIO, lambda content: _Slowly(content, 2)):
        reading = MailboxReading()
        found = list(split_mbox(stream(before + b"From a\nA: b\n\nFrom b\nA: c\n"), reading))
        assert [one.head for one in found] == [b"A: b\n", b"A: c\n"]
        assert reading.skipped.before == count
