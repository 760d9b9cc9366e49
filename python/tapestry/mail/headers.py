"""Picks out the few headers that a row is made of, without parsing the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Headers = Mapping[str, bytes]
"""Name of a header, in lower case -> its value as it is written, line ends included."""

LONGEST = 2**16
"""Bytes of a header that are kept."""

_WANTED = frozenset(
    ("message-id", "in-reply-to", "references", "from", "subject", "date", "received", "list-id")
) | {"newsgroups"}
_REPEATED = frozenset(("received",))
"""Headers that each server on the way adds; of all others a message has one (RFC 5322)."""
_USEFUL_IN_PART = frozenset(("subject", "references"))

# White space before the colon is obsolete, and to be read (RFC 5322, section 4.5).
_HEADER = re.compile(rb"([\x21-\x39\x3b-\x7e]+)[ \t]*:")
_FROM_LINE = re.compile(rb">*From ")
# A line that ends with \r\r\n went through two programs that each added a \r.
_LINE = re.compile(rb"[^\r\n]*(?:\r{0,2}\n|\r|\Z)")
_END = re.compile(rb"(?:^|\n)\r{0,2}\n\Z")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class Picked:
    """Headers by name, whether one was longer than is kept, and what is wrong with the lines.

    ``doubts`` has the first line of each fault and how many have it.
    """

    headers: dict[str, bytes] = field(default_factory=dict)
    cut: bool = False
    doubts: tuple[str, ...] = ()


def pick_headers(head: bytes, cut: bool = False) -> Picked:
    r"""The first header of each name that a row needs, an empty one not counting.

    A line that is no header is left out with the lines that continue it, and the next one is read:
    Python's own parser takes all that follows for the body. That parser also makes objects of all
    headers: 2 s for a message of a mebibyte of ``X:``, which takes a tenth of a second here.
    ``cut``: there were more bytes. The last header then is left out if a part of it would mislead.

    >>> picked = pick_headers(b"X: 1\nSubject: a\n b\nno header\n c\nSubject: d\nDate : e\n\n")
    >>> picked.headers
    {'subject': b' a\n b\n', 'date': b' e\n'}
    >>> picked.doubts
    ('line 4 is no header: it has no colon', 'line 6 is a second Subject: the first counts')
    """
    reading = _Reading()
    for line in _lines(head):
        reading.read(line)
    if head and not cut and head[-1:] not in (b"\n", b"\r"):
        reading.doubt("has no end: the message ends in it")
    return reading.picked(cut and not _END.search(head))


def _lines(head: bytes) -> list[bytes]:
    if b"\n" not in head:  # line ends of old Macs: the parser has not separated headers and body
        head = head.partition(b"\r\r")[0]
    return [line for line in _LINE.findall(head.removeprefix(_BYTE_ORDER_MARK)) if line]


class _Reading:
    """The lines of a message's headers, read one after the other."""

    def __init__(self) -> None:
        self._kept: dict[str, bytearray] = {}
        self._words: dict[str, list[bytearray]] = {}  # of what is kept
        self._name = ""
        self._current: bytearray | None = None  # the value of that name, if it is wanted
        self._begun = 0  # the line that the current header began on
        self._number = 0
        self._doubts: dict[str, tuple[int, int]] = {}

    def read(self, line: bytes) -> None:
        """Read the next line."""
        self._number += 1
        if line.endswith(b"\r"):
            self.doubt("ends with a carriage return alone")
        if not line.strip(b"\r\n"):
            return
        if line[:1] in (b" ", b"\t") and self._begun:
            if self._current is not None and len(self._current) <= LONGEST:
                self._current += line
            return
        self._end_header()
        named = _HEADER.match(line)
        if named:
            self._name = named.group(1).lower().decode("ascii")
            if self._name in _WANTED:
                self._current = bytearray(line[named.end() :])
        elif not _FROM_LINE.match(line):
            self.doubt(f"is no header: {_why(line)}")
        elif self._begun:
            self.doubt("is no header but a From line of an mbox")
        self._begun = self._number

    def doubt(self, what: str) -> None:
        """Note a fault of the line that was read last."""
        first, count = self._doubts.get(what, (self._number, 0))
        self._doubts[what] = first, count + 1

    def picked(self, cut: bool) -> Picked:
        """Return the headers that the lines make up."""
        if cut and self._name not in _USEFUL_IN_PART:
            self._current = None
        self._end_header()
        return Picked(
            {name: bytes(value[:LONGEST]) for name, value in self._kept.items()},
            any(len(value) > LONGEST for value in self._kept.values()),
            tuple(
                f"line {first} {what}" + (f" (and {count - 1:,} more)" if count > 1 else "")
                for what, (first, count) in self._doubts.items()
            ),
        )

    def _end_header(self) -> None:
        value, self._current = self._current, None
        if value is None:
            return
        words = value.split()
        if not self._words.get(self._name):
            self._kept[self._name], self._words[self._name] = value, words
        elif self._name not in _REPEATED and words != self._words[self._name]:
            what = f"is a second {self._name.title()}: the first counts"
            first, count = self._doubts.get(what, (self._begun, 0))
            self._doubts[what] = first, count + 1


def _why(line: bytes) -> str:
    if line[:1] in (b" ", b"\t"):
        return "it continues none"
    if b":" not in line:
        return "it has no colon"
    return "it has no name" if line.startswith(b":") else "no name has such characters"
